import { createHash, createHmac } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type Bucket, createBucketInbox, readBucketAddress, signedHeaders } from '#services/cli/import/bucket.ts';
import { SendError } from '#services/cli/import/edge_client.ts';
import { noCounts } from '#services/cli/import/progress.ts';
import { watchFolder } from '#services/cli/import/watch_folder.ts';

const CREDENTIALS = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'very/secret',
  sessionToken: 'tok/en',
  region: 'eu-1',
};
const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** Of the documentation of S3: "Signature Calculations for the Authorization Header". */
test.each([
  [
    'https://examplebucket.s3.amazonaws.com/?lifecycle=',
    'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  ],
  [
    'https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J',
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  ],
])('a request is signed as the documentation signs it: %s', (url, signature) => {
  const credentials = {
    accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    sessionToken: null,
    region: 'us-east-1',
  };
  const { authorization } = signedHeaders(new URL(url), credentials, Date.UTC(2013, 4, 24));
  expect(authorization).toContain(`Signature=${signature}`);
});

/** Whether a request is signed with the secret, by what came over the wire. */
function isSigned({ url = '', headers }: IncomingMessage): boolean {
  const [, scope = '', names = '', signature] =
    /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/(\S+),SignedHeaders=(\S+),Signature=(\w+)$/.exec(
      headers.authorization ?? '',
    ) ?? [];
  const [path, query = ''] = url.split('?');
  const signed = names.split(';').map((name) => `${name}:${String(headers[name])}\n`);
  const request = `GET\n${path}\n${query.split('&').sort().join('&')}\n${signed.join('')}\n${names}\n${createHash('sha256').digest('hex')}`;
  const digest = createHash('sha256').update(request).digest('hex');
  let key: string | Buffer = `AWS4${CREDENTIALS.secretAccessKey}`;
  for (const part of scope.split('/')) key = createHmac('sha256', key).update(part).digest();
  const text = `AWS4-HMAC-SHA256\n${String(headers['x-amz-date'])}\n${scope}\n${digest}`;
  return names.includes('x-amz-security-token') && createHmac('sha256', key).update(text).digest('hex') === signature;
}

/** A stand-in of S3 with these objects, which lists two at a time. */
async function standin(objects: Map<string, string>) {
  const got: string[] = [];
  const failures: number[] = [];
  const etagOf = (content: string): string => `"${createHash('md5').update(content).digest('hex')}"`;
  const server = createServer((request, response) => {
    const end = (status: number, body: string): void => void response.writeHead(status).end(body);
    const failure = failures.shift();
    if (failure !== undefined)
      return end(failure, '<Error><Code>SlowDown</Code><Message>jane@x.example</Message></Error>');
    if (!isSigned(request)) return end(403, '<Error><Code>SignatureDoesNotMatch</Code></Error>');
    const url = new URL(request.url ?? '', 'http://localhost');
    const key = decodeURIComponent(url.pathname.slice('/sales/'.length));
    if (url.pathname === '/sales/' || url.pathname === '/sales') {
      const prefix = url.searchParams.get('prefix') ?? '';
      const from = Number(url.searchParams.get('continuation-token')?.slice(2) ?? 0);
      const all = [...objects].filter(([name]) => name.startsWith(prefix)).sort(([a], [b]) => (a < b ? -1 : 1));
      const page = all.slice(from, from + 2).map(([name, content]) => {
        const etag = etagOf(content).replaceAll('"', '&quot;');
        return `<Contents><Key>${encodeURIComponent(name).replaceAll('%20', '+')}</Key><ETag>${etag}</ETag></Contents>`;
      });
      const isMore = from + 2 < all.length;
      const next = isMore ? `<NextContinuationToken>a&amp;${from + 2}</NextContinuationToken>` : '';
      const head = `<EncodingType>url</EncodingType><IsTruncated>${isMore}</IsTruncated>`;
      return end(200, `<ListBucketResult>${head}${next}${page.join('')}</ListBucketResult>`);
    }
    const content = objects.get(key);
    if (content === 'cold') return end(403, '<Error><Code>InvalidObjectState</Code></Error>');
    if (content === undefined || request.headers['if-match'] !== etagOf(content)) return end(412, '');
    got.push(key);
    return end(200, content);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closing.push(() => server.close());
  server.unref();
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const bucket: Bucket = { name: 'sales', endpoint, credentials: CREDENTIALS };
  return { bucket, got, failures };
}

async function watched(bucket: Bucket, folder: string, take: (content: string) => void = () => undefined) {
  const said: string[] = [];
  const taken: string[] = [];
  const counts = await watchFolder(folder, {
    everyMs: 0,
    isOnce: true,
    keepsDone: false,
    fetchNew: createBucketInbox(bucket, 'tills/', folder, (line) => void said.push(line)),
    say: (line) => void said.push(line),
    sleep: async () => undefined,
    onImported: () => undefined,
    async importOne(path) {
      const content = readFileSync(path, 'utf8');
      take(content);
      taken.push(`${basename(path)}: ${content}`);
      return { counts: noCounts(), errorsPath: null, finishedAt: null };
    },
  });
  return { counts, taken, said };
}

function newFolder(): string {
  const folder = join(mkdtempSync(join(tmpdir(), 'import-bucket-')), 'sales');
  mkdirSync(folder);
  closing.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test('objects of a bucket are fetched once each, and again when they have changed', async () => {
  const long = `tills/${'x'.repeat(300)}.csv`;
  const objects = new Map([
    ['tills/a & b+ü.csv', 'first'],
    ['tills/b/c.ndjson', 'second'],
    ['tills/', ''],
    ['tills/notes.pdf', 'no'],
    ['tills/.hidden.csv', 'no'],
    ['tills/../up.csv', 'no'],
    [long, 'third'],
    ['others/a.csv', 'no'],
  ]);
  const { bucket, got } = await standin(objects);
  const folder = newFolder();
  const first = await watched(bucket, folder);
  expect(first.counts).toEqual({ imported: 3, failed: 0, waiting: 0 });
  expect(first.taken).toEqual([
    'tills%2Fa%20%26%20b%2B%C3%BC.csv: first',
    'tills%2Fb%2Fc.ndjson: second',
    expect.stringMatching(/^tills%2Fx+-\w{64}\.csv: third$/),
  ]);
  // What is in the bucket is not kept here as well.
  expect(readdirSync(join(folder, 'done'))).toEqual([]);
  objects.set('tills/b/c.ndjson', 'second, corrected');
  objects.delete(long);
  const second = await watched(bucket, folder);
  expect(second.taken).toEqual(['tills%2Fb%2Fc.ndjson: second, corrected']);
  expect(got).toEqual(['tills/a & b+ü.csv', 'tills/b/c.ndjson', long, 'tills/b/c.ndjson']);
  expect(existsSync(join(folder, '.import.lock'))).toBe(false);
  expect(() => createBucketInbox(bucket, 'others/', folder, () => undefined)).toThrow(/another bucket/);
});

test('what was fetched and not imported goes on without the bucket, which is tried again', async () => {
  const objects = new Map([
    ['tills/a.csv', 'first'],
    ['tills/cold.csv', 'cold'],
  ]);
  const { bucket, failures, got } = await standin(objects);
  const folder = newFolder();
  const away = await watched(bucket, folder, () => {
    throw new SendError('overloaded', 'away');
  });
  expect(away.counts).toEqual({ imported: 0, failed: 0, waiting: 2 });
  expect(away.said[0]).toBe('tills/cold.csv: InvalidObjectState; it is left, and looked at again');
  failures.push(503);
  const { counts, taken, said } = await watched(bucket, folder);
  expect([counts, taken]).toEqual([{ imported: 1, failed: 0, waiting: 1 }, ['tills%2Fa.csv: first']]);
  expect(said).toEqual(['bucket_unavailable: SlowDown; tried again']);
  objects.delete('tills/cold.csv');
  expect((await watched(bucket, folder)).counts).toEqual({ imported: 0, failed: 0, waiting: 0 });
  expect(got).toEqual(['tills/a.csv']);
});

test('a bucket that refuses the keys ends the watch with its reason', async () => {
  const { bucket } = await standin(new Map());
  const credentials = { ...CREDENTIALS, secretAccessKey: 'wrong' };
  await expect(watched({ ...bucket, credentials }, newFolder())).rejects.toMatchObject({
    code: 'bucket_refused',
    message: 'sales: SignatureDoesNotMatch',
  });
});

test.each([
  ['s3://sales', { name: 'sales', prefix: '' }],
  ['s3://sales/tills/2027/', { name: 'sales', prefix: 'tills/2027/' }],
  ['s3://Sales', null],
  ['s3:///tills', null],
])('the address %s', (text, address) => {
  expect(readBucketAddress(text)).toEqual(address);
});
