import { createHash, generateKeyPairSync, sign } from 'node:crypto';

/** A certificate for a server of a test, with what makes Chromium trust it. */
export interface TestCertificate {
  key: string;
  cert: string;
  /** Hash of the public key in base64, as --ignore-certificate-errors-spki-list takes it. */
  spkiSha256: string;
}

const SEQUENCE = 0x30;
const SET = 0x31;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const UTF8_STRING = 0x0c;
const UTC_TIME = 0x17;
const EXPLICIT_0 = 0xa0;

const ECDSA_WITH_SHA256 = oid('06082a8648ce3d040302');
const COMMON_NAME = oid('0603550403');
/** X.509 counts versions from 0. */
const VERSION_3 = 2;
/** RFC 5280 wants no UTCTime after 2049. */
const FROM = '200101000000Z';
const TO = '491231235959Z';

/** A certificate signed by its own key, as small as RFC 5280 section 4.1 allows. */
export function makeCertificate(name: string): TestCertificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const algorithm = der(SEQUENCE, ECDSA_WITH_SHA256);
  const subject = der(SEQUENCE, der(SET, der(SEQUENCE, COMMON_NAME, der(UTF8_STRING, Buffer.from(name)))));
  const validity = der(SEQUENCE, der(UTC_TIME, Buffer.from(FROM)), der(UTC_TIME, Buffer.from(TO)));
  const version = der(EXPLICIT_0, der(INTEGER, Buffer.from([VERSION_3])));
  const serial = der(INTEGER, Buffer.from([1]));
  const body = der(SEQUENCE, version, serial, algorithm, subject, validity, subject, spki);
  const signature = der(BIT_STRING, Buffer.from([0]), sign('sha256', body, privateKey));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: pem(der(SEQUENCE, body, algorithm, signature)),
    spkiSha256: createHash('sha256').update(spki).digest('base64'),
  };
}

function oid(hex: string): Buffer {
  return Buffer.from(hex, 'hex');
}

/** One value in DER: its tag, its length, its content. */
function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  return length < 0x100 ? Buffer.from([0x81, length]) : Buffer.from([0x82, length >> 8, length & 0xff]);
}

function pem(content: Buffer): string {
  const lines = content.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
