import { expect } from "chai";
import fc from "fast-check";

import { vaultError } from "../src/errors.js";
import {
  escapeUntrusted,
  keepHeaderSecret,
  keepKeySecret,
  keepSecret,
  keepUrlSecret,
  quoteForeignText,
  redactSecrets,
  redactUrls,
  toSafeJson,
} from "../src/untrusted-text.js";
import { harmfulIn } from "./helpers/hostile-text.js";

const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }))
    .map((units) => String.fromCharCode(...units)),
);

function toBase64(text: string): string {
  return Buffer.from(text).toString("base64").replaceAll("=", "");
}

describe("untrusted text", () => {
  it("escapeUntrusted leaves nothing that a terminal obeys", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const escaped = escapeUntrusted(text);
        expect(harmfulIn(escaped)).to.deep.equal([]);
        expect(escaped).to.not.include("\n");
      }),
    );
  });

  it("escapeUntrusted and toSafeJson leave ordinary text of any script as it is", () => {
    const text = "BTC-USDT ₿ ä é 日本 العربية 🚀 100 %";
    expect(escapeUntrusted(text)).to.equal(text);
    expect(toSafeJson(text)).to.equal(JSON.stringify(text));
  });

  it("escapeUntrusted shows control and bidirectional characters as escapes", () => {
    expect(escapeUntrusted("\u001b[31m\n\u202e\u{e0041}")).to.equal(
      "\\u{1b}[31m\\u{a}\\u{202e}\\u{e0041}",
    );
  });

  it("toSafeJson writes JSON that is safe to show and has the same value", () => {
    fc.assert(
      fc.property(anyText, anyText, (key, value) => {
        const json = toSafeJson({ [`k${key}`]: [value] });
        expect(harmfulIn(json)).to.deep.equal([]);
        expect(json).to.not.include("\n");
        expect(JSON.parse(json)).to.deep.equal({ [`k${key}`]: [value] });
      }),
    );
  });

  it("toSafeJson keeps the line breaks between tokens, and only those", () => {
    const json = toSafeJson({ a: "x\ny", b: [1] }, 2);
    expect(json.split("\n")).to.have.lengthOf(6);
    expect(JSON.parse(json)).to.deep.equal({ a: "x\ny", b: [1] });
  });

  // Secrets of a file are hidden for the whole process, so this key is in no other.
  const key = "5d0c8a3f9b6e4d1283a7c6b5e4f30912";
  it("redactUrls removes each URL", () => {
    for (const text of [
      `https://node.test/v3/${key}`,
      `wss://user:${key}@node.test:8546/?key=${key}`,
      `"http://127.0.0.1:1/${key}"`,
      `(see https://${key}.node.test/)`,
    ]) {
      expect(redactUrls(text)).to.contain("<url>").and.not.contain(key);
    }
  });

  it("redactSecrets removes paths and keys", () => {
    for (const text of [
      `Cannot POST /v3/${key}`,
      `Cannot POST /v3/short-1?k=2`,
      `project ${key} is unknown`,
      `key=${key}`,
      `"${key.toUpperCase()}"`,
    ]) {
      expect(redactSecrets(text).toLowerCase()).to.not.contain(key);
      expect(redactSecrets(text)).to.match(/<path>|<hidden>/u);
    }
  });

  it("redactSecrets keeps addresses, methods and fractions in a node's error", () => {
    const text =
      "header not found for 0x70997970C51812dc3A010C7d01b50e0d17dc79C8, eth_getTransactionByBlockHashAndIndex w/o data 12/34";
    expect(redactSecrets(text)).to.equal(text);
  });

  it("invisible characters are shown as escapes", () => {
    const invisible = "\u3164\u115f\uffa0\u2800\u{e0100}\u034f\u200b";
    for (const character of Array.from(invisible)) {
      const escape = `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
      expect(escapeUntrusted(`a${character}b`)).to.equal(`a${escape}b`);
      const json = toSafeJson([character]);
      expect(json).to.match(/^\["(?:\\u[0-9a-f]{4})+"\]$/u);
      expect(JSON.parse(json)).to.deep.equal([character]);
    }
  });

  it("long text of any kind is quoted in less than 5,000 characters at once", () => {
    for (const part of ["a.", "a", "/a ", "a://", " "]) {
      const text = part.repeat(4_000_000 / part.length);
      for (const quoted of [
        quoteForeignText(text),
        quoteForeignText(redactSecrets(text)),
        escapeUntrusted(text),
      ]) {
        expect(quoted.length).to.be.below(5_000);
      }
    }
  });

  describe("a secret of the configuration", () => {
    const url =
      "https://us%40er:p4ss@h0st-key.rpc.test/v3/short-key-123/my-net/x?token=q-value-9&a=1#fr4gment";
    before(() => {
      keepUrlSecret(url, ["My-Net"]);
      keepHeaderSecret("Bearer head3r");
      keepHeaderSecret(`Basic ${toBase64("b4sic:password")}`);
      keepSecret("abandon ability able", "pass:w/ord");
    });

    for (const part of [
      ...["us@er", "us%40er", "p4ss", "h0st-key", "short-key-123", "fr4gment"],
      ...["SHORT-KEY-123", "q-value-9", "head3r", "Bearer head3r"],
      ...["abandon ability able", "pass:w/ord", "pass%3Aw%2Ford"],
      toBase64("b4sic:password"),
    ]) {
      it(`${part} is hidden in every text that repeats it`, () => {
        for (const text of [
          part,
          `Cannot find project ${part}.`,
          `{"key":"${part}"}`,
          `${"y".repeat(4_090)} ${part}`,
        ]) {
          for (const shown of [
            escapeUntrusted(text),
            quoteForeignText(text),
            redactSecrets(text),
            toSafeJson({ text }),
            vaultError("VAULT_INTERNAL", { problem: text }).message,
          ]) {
            expect(shown.toLowerCase()).to.not.contain(part.toLowerCase());
          }
        }
      });
    }

    it("a secret is hidden if the text is cut within it", () => {
      const secret = "abandon ability able";
      for (let cut = 1; cut < secret.length; cut += 1) {
        const before = `${secret} `.repeat(380);
        const text = `${before.padEnd(8_192 - cut, ".")}${secret}`;
        for (const shown of [escapeUntrusted(text), redactSecrets(text)]) {
          expect(shown, `${cut} characters`).to.match(/^(?:<hidden> )+\.*…$/u);
        }
      }
    });

    it("words, names of networks and figures of a URL are no secrets", () => {
      const text = "eth_call of v3 on my-net answered 1, x is 12, p4ssed";
      expect(escapeUntrusted(text)).to.equal(text);
      keepSecret("918273645", "a1b2c3d4e5");
      expect(toSafeJson(["918273645", "0xa1b2c3d4e5"])).to.equal(
        '["918273645","0xa1b2c3d4e5"]',
      );
    });
  });

  describe("a configured key of hex digits, in a value of nothing but hex", () => {
    const hexKey = "5ec2e7c0ffee0123456789abcdef9876";
    const prefixed = "0x7777c0ffee7777c0ffee7777";
    const privateKey = `0x${"5ec7e7".padEnd(64, "a")}`;
    const address = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
    before(() => {
      keepUrlSecret(`https://rpc.test/v2/${hexKey}/${address}?id=${prefixed}`);
      keepKeySecret(privateKey);
      keepHeaderSecret("facade99");
      keepHeaderSecret("1234567890123456789");
    });

    it("toSafeJson hides the key by itself", () => {
      const texts = [hexKey, hexKey.toUpperCase(), prefixed, privateKey];
      for (const said of [...texts, privateKey.slice(2), "facade99"]) {
        expect(toSafeJson({ said }), said).to.equal('{"said":"<hidden>"}');
      }
    });

    it("toSafeJson leaves what data is by chance, or is no secret", () => {
      for (const said of [
        `0xabcd${hexKey}ef`,
        "0xfacade99",
        "0x00facade9900",
        address,
        `0x${address.slice(2).padStart(64, "0")}`,
        "1234567890123456789",
      ]) {
        expect(toSafeJson({ said })).to.equal(JSON.stringify({ said }));
      }
    });
  });

  it("quoteForeignText quotes in one line of limited length", () => {
    expect(quoteForeignText(" a\r\n\tb\u001b ")).to.equal("a b\\u{1b}");
    expect(quoteForeignText("x".repeat(1_000))).to.have.lengthOf(501);
    expect(quoteForeignText("x".repeat(1_000), 10)).to.equal("xxxxxxxxxx…");
  });
});
