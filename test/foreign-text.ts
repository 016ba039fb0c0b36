import { Buffer } from "node:buffer";

import { expect } from "chai";
import fc from "fast-check";

import {
  MAX_FOREIGN_TEXT,
  Redactor,
  escapeUntrusted,
  quoteForeignText,
  toSafeJson,
} from "../src/foreign-text.js";
import { harmfulIn } from "./helpers/hostile-text.js";

const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }))
    .map((units) => String.fromCharCode(...units)),
);

describe("escaped text", () => {
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

  it("a command of Azure Pipelines in a text is none once it is escaped, and JSON keeps its value", () => {
    const text = "ok ##vso[task.setvariable variable=A]1 ##[error]no";
    expect(escapeUntrusted(text)).to.equal(
      "ok #\\u{23}vso[task.setvariable variable=A]1 #\\u{23}[error]no",
    );
    expect(toSafeJson([text])).to.not.include("##");
    expect(JSON.parse(toSafeJson([text]))).to.deep.equal([text]);
    expect(escapeUntrusted("## title")).to.equal("## title");
  });

  it("invisible characters are shown as escapes", () => {
    const invisible = "\u3164\u115f\uffa0\u2800\u{e0100}\u034f\u200b\ufffb";
    for (const character of Array.from(invisible)) {
      const escape = `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
      expect(escapeUntrusted(`a${character}b`)).to.equal(`a${escape}b`);
      const json = toSafeJson([character]);
      expect(json).to.match(/^\["(?:\\u[0-9a-f]{4})+"\]$/u);
      expect(JSON.parse(json)).to.deep.equal([character]);
    }
  });
});

function toBase64(text: string): string {
  return Buffer.from(text).toString("base64").replaceAll("=", "");
}

describe("redacted text", () => {
  const key = "5d0c8a3f9b6e4d1283a7c6b5e4f30912";
  it("quoteForeignText removes each URL", () => {
    for (const text of [
      `wss://user:${key}@node.test:8546/?key=${key}`,
      `(see https://${key}.node.test/)`,
      `HTTPS://node.test/${key}`,
    ]) {
      expect(quoteForeignText(text)).to.contain("<url>").and.not.contain(key);
    }
  });

  it("long text of any kind is quoted in less than 5,000 characters at once", () => {
    for (const part of ["a.", "/a ", " "]) {
      const text = part.repeat(4_000_000 / part.length);
      for (const quoted of [quoteForeignText(text), escapeUntrusted(text)]) {
        expect(quoted.length).to.be.below(5_000);
      }
    }
  });

  it("quoteForeignText quotes in one line of limited length", () => {
    expect(quoteForeignText(" a\r\n\tb\u001b ")).to.equal("a b\\u{1b}");
    expect(quoteForeignText("x".repeat(1_000))).to.have.lengthOf(501);
    expect(quoteForeignText("x".repeat(500))).to.equal("x".repeat(500));
  });

  describe("a secret of the configuration", () => {
    const url =
      "https://us%40er:p4ss@h0st-key.rpc.test/v3/short-key-123/MY-net/x?token=q-value-9&a=1#fr4gment";
    const redactor = new Redactor(["My-Net"]);
    before(() => {
      redactor.keepUrl(url);
      redactor.keepHeader("Bearer head3r");
      redactor.keepHeader(`Basic ${toBase64("b4sic:password")}`);
      redactor.keep("abandon ability able", "pass:w/ord", "two  blanks");
    });

    for (const part of [
      ...["us@er", "us%40er", "p4ss", "h0st-key", "short-key-123", "fr4gment"],
      ...["SHORT-KEY-123", "q-value-9", "head3r", "Bearer head3r"],
      ...["abandon ability able", "pass:w/ord", "pass%3Aw%2Ford"],
      "two  blanks",
      toBase64("b4sic:password"),
    ]) {
      it(`a redactor hides the whole of ${part}`, () => {
        expect(redactor.hide(`It is ${part}.`)).to.equal("It is <hidden>.");
        expect(redactor.quote(`{"key":"${part}"}`)).to.contain('"<hidden>"');
      });
    }

    it("a redactor hides a secret in which a text is cut", () => {
      const secret = "abandon ability able";
      for (let end = 1; end < secret.length; end += 1) {
        const text = `${".".repeat(MAX_FOREIGN_TEXT - end)}${secret}`;
        expect(redactor.hide(text), `${end} characters`).to.not.match(/\w{9}/u);
      }
      // Many in front move one to where the text is cut.
      expect(redactor.hide(`${secret} `.repeat(10_000))).to.match(
        /^(?:<hidden> )+[<hiden>]*…$/u,
      );
    });

    it("a redactor keeps words, names of networks and figures of a URL", () => {
      const text = "eth_call of v3 on my-net answered 1, x is 12, p4ssed";
      expect(redactor.hide(text)).to.equal(text);
    });
  });

  /** What a redactor leaves of a text after it was told a secret. */
  const shownBy = (tell: (redactor: Redactor) => void, text: string) => {
    const redactor = new Redactor();
    tell(redactor);
    return redactor.hide(text);
  };

  it("a redactor hides what it is told after it has hidden something", () => {
    const redactor = new Redactor();
    redactor.keep("first-secret");
    expect(redactor.hide("second-secret")).to.equal("second-secret");
    redactor.keep("second-secret");
    expect(redactor.hide("second-secret")).to.equal("<hidden>");
  });

  it("a redactor hides a key with and without 0x", () => {
    for (const text of [key, `0x${key}`, key.toUpperCase()]) {
      expect(shownBy((one) => one.keepKey(`0x${key}`), text)).to.equal(
        "<hidden>",
      );
    }
  });

  it("a redactor takes a secret that is no valid Unicode", () => {
    const secret = "abcdefgh\ud800";
    expect(shownBy((one) => one.keep(secret), secret)).to.equal("<hidden>");
  });

  it("a redactor hides the longer of two secrets whole", () => {
    expect(
      shownBy((one) => one.keep("secret-1", "secret-1-more"), "secret-1-more"),
    ).to.equal("<hidden>");
  });

  for (const [url, text] of [
    ["no URL, but a secret", "no URL, but a secret"],
    ["https://a1b2c3d4.node.test/", "a1b2c3d4"],
    ["https://abcdefghijklmnop.node.test/", "abcdefghijklmnop"],
    ["https://node.test/abc123", "abc123"],
    ["https://user1234@node.test/", "user1234"],
    ["https://u%2Fs:p%2Fw@node.test/", "p/w"],
    ["https://node.test/?k=a%2Fb%2Fc1", "a/b/c1"],
  ] as const) {
    it(`a redactor hides ${text} of the URL ${url}`, () => {
      expect(shownBy((one) => one.keepUrl(url), text)).to.equal("<hidden>");
    });
  }

  for (const [url, text] of [
    ["https://abcdefgh.node.test/", "abcdefgh"],
    ["https://a1b2c3d.node.test/", "a1b2c3d"],
    ["https://12345678.node.test/", "12345678"],
    ["https://node.test/abc12", "abc12"],
  ] as const) {
    it(`a redactor shows ${text}, which is no secret of the URL ${url}`, () => {
      expect(shownBy((one) => one.keepUrl(url), text)).to.equal(text);
    });
  }

  it("a redactor hides each part of a header but the name of its scheme", () => {
    const header = 'Digest user=abcdef,key=ghijkl;"x"';
    expect(
      shownBy((one) => one.keepHeader(header), "Digest abcdef ghijkl user"),
    ).to.equal("Digest <hidden> <hidden> user");
  });

  it("a redactor hides a secret of 8 characters inside a word, and a shorter one as a word only", () => {
    const redactor = new Redactor();
    redactor.keep("eightkey", "7letter");
    expect(redactor.hide("myeightkeys, my7letters, 7letter")).to.equal(
      "my<hidden>s, my7letters, <hidden>",
    );
  });

  it("a redactor hides only the secrets of its own connection", () => {
    const [one, other] = [new Redactor(), new Redactor()];
    one.keepUrl("http://127.0.0.1/first-secret");
    other.keepUrl("http://127.0.0.1/second-secret");
    const text = "first-secret, second-secret";
    expect(one.hide(text)).to.equal("<hidden>, second-secret");
    expect(other.hide(text)).to.equal("first-secret, <hidden>");
  });
});
