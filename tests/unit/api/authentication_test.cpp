#include "store/wire/authentication.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tutti/rendezvous.hpp"

namespace tutti {
namespace {

std::string sha256_text(std::string_view message) { return hexadecimal(sha256(message)); }
std::string hmac_text(std::string_view key, std::string_view message) { return hexadecimal(hmac_sha256(key, message)); }

TEST(AuthenticationTest, Sha256OfFips180) {
  EXPECT_EQ(sha256_text(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_text("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(
      sha256_text("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrs"
                  "mnopqrstnopqrstu"),
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(sha256_text(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Lengths around 56 bytes, from which the padding needs a second block.
TEST(AuthenticationTest, Sha256AtTheEdgesOfABlock) {
  EXPECT_EQ(sha256_text(std::string(55, 'a')), "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(sha256_text(std::string(56, 'a')), "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
  EXPECT_EQ(sha256_text(std::string(63, 'a')), "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34");
  EXPECT_EQ(sha256_text(std::string(64, 'a')), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
  EXPECT_EQ(sha256_text(std::string(65, 'a')), "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0");
}

TEST(AuthenticationTest, HmacOfRfc4231) {
  EXPECT_EQ(hmac_text(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac_text("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac_text(std::string(20, '\xaa'), std::string(50, '\xdd')),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  std::string counting;
  for (char c = 1; c <= 25; ++c) counting += c;
  EXPECT_EQ(hmac_text(counting, std::string(50, '\xcd')),
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
  EXPECT_EQ(hmac_text(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  EXPECT_EQ(
      hmac_text(std::string(131, '\xaa'),
                "This is a test using a larger than block-size key and a larger than block-size data. The key needs "
                "to be hashed before being used by the HMAC algorithm."),
      "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

TEST(AuthenticationTest, ComparesAllBytes) {
  const Digest a = sha256("a");
  EXPECT_TRUE(equal_in_constant_time(a, a));
  for (std::size_t i = 0; i < a.size(); ++i) {
    Digest b = a;
    b[i] ^= 0x80;
    EXPECT_FALSE(equal_in_constant_time(a, b)) << i;
  }
  EXPECT_FALSE(equal_in_constant_time(a, std::span(a).first(31)));
}

TEST(AuthenticationTest, PartsGiveTheSameAsTheWhole) {
  std::string message;
  for (int i = 0; i < 200; ++i) message += static_cast<char>(i * 37);
  for (std::size_t cut = 0; cut <= message.size(); ++cut) {
    for (std::size_t second = cut; second <= message.size(); second += 41) {
      Sha256 hash;
      HmacSha256 hmac("key");
      for (const std::string_view part :
           {std::string_view(message).substr(0, cut), std::string_view(message).substr(cut, second - cut),
            std::string_view(message).substr(second)}) {
        hash.add(part);
        hmac.add(part);
      }
      ASSERT_EQ(hash.finish(), sha256(message)) << cut << " " << second;
      ASSERT_EQ(hmac.finish(), hmac_sha256("key", message)) << cut << " " << second;
    }
  }
}

TEST(AuthenticationTest, ProofDependsOnEverything) {
  const Nonce x = make_nonce();
  const Nonce y = make_nonce();
  const std::set<Digest> proofs = {
      make_proof("s", Role::client, x, y, "a"),  make_proof("s", Role::server, x, y, "a"),
      make_proof("s", Role::client, y, x, "a"),  make_proof("t", Role::client, x, y, "a"),
      make_proof("s", Role::client, x, x, "a"),  make_proof("s", Role::client, x, y, "b"),
      make_session_key("s", Role::client, x, y), make_session_key("s", Role::server, x, y),
      make_session_key("s", Role::client, y, x), make_session_key("t", Role::client, x, y)};
  EXPECT_EQ(proofs.size(), 10U);
  EXPECT_EQ(make_proof("s", Role::client, x, y, "a"), make_proof("s", Role::client, x, y, "a"));
}

TEST(AuthenticationTest, SecretsAreLongAndDiffer) {
  const std::string secret = make_secret();
  EXPECT_EQ(secret.size(), 64U);
  EXPECT_EQ(secret.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(secret, make_secret());
}

}  // namespace
}  // namespace tutti
