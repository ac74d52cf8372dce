import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { hashEmail } from '#pipelines/privacy/hash_identifiers.ts';
import { normaliseEmail } from '#pipelines/privacy/normalise_text.ts';
import { checkAll } from '#test/harness/check_all.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('an e-mail address', () => {
  it('is normalised', () =>
    checkAll(
      [
        ['jane@example.com', 'jane@example.com'],
        ['  Jane.Doe@Example.COM \n', 'jane.doe@example.com'],
        ['mailto:jane@example.com', 'jane@example.com'],
        ['Jane+News@example.co.uk', 'jane+news@example.co.uk'],
        ["o'brien@example.com", "o'brien@example.com"],
        ['JOSÉ@münchen.de', 'josé@münchen.de'],
        ['jane@ｅｘａｍｐｌｅ.com', 'jane@example.com'],
        ['jane@exam\u00adple.com\u200b', 'jane@example.com'],
        ['jose\u0301@example.com', 'josé@example.com'],
        ['"a b"@example.com', null],
        ['jane@localhost', null],
        ['jane.example.com', null],
        ['jane@@example.com', null],
        ['jane@example..com', null],
        ['jane@.com', null],
        ['@example.com', null],
        ['jane doe@example.com', null],
        ['', null],
        [`${'a'.repeat(250)}@example.com`, null],
      ],
      ([sent, normalised]) => {
        expect(normaliseEmail(sent)).toBe(normalised);
        expect(hashEmail(sent)?.email ?? null).toBe(normalised === null ? null : sha256(normalised));
      },
    ));

  it('has Google’s variant and the stripped variant', () =>
    checkAll(
      [
        ['jane@example.com', null, null],
        ['jane.doe@example.com', null, 'janedoe@example.com'],
        ['jane+x@example.com', null, 'jane@example.com'],
        ['jane.doe+a.b+c@gmail.com', 'janedoe@gmail.com', 'janedoe@gmail.com'],
        ['Jane.Doe@GoogleMail.com', 'janedoe@googlemail.com', 'janedoe@googlemail.com'],
        ['janedoe@gmail.com', null, null],
        ['jane.doe@gmail.com.example.org', null, 'janedoe@gmail.com.example.org'],
        ['+tag@example.com', null, null],
        ['jane@plus+domain.com', null, null],
      ],
      ([sent, google, stripped]) => {
        const hashes = hashEmail(sent);
        expect(hashes?.email_google).toBe(google === null ? null : sha256(google));
        expect(hashes?.email_stripped).toBe(stripped === null ? null : sha256(stripped));
      },
    ));

  it('of Google of which nothing is left is none', () =>
    checkAll(['...@gmail.com', '+tag@gmail.com', '.+x@googlemail.com'], (sent) => {
      expect(hashEmail(sent)).toBeNull();
    }));

  it('hashed by the sender passes through in lower case and has no variants', () => {
    const hashed = sha256('jane@example.com');
    expect(hashEmail(` ${hashed.toUpperCase()} `)).toEqual({ email: hashed, email_google: null, email_stripped: null });
  });

  it('hashed with MD5 is refused', () => {
    expect(hashEmail(createHash('md5').update('jane@example.com').digest('hex'))).toBeNull();
  });
});
