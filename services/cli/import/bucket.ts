// New objects of a bucket, as files of a folder that is watched; which were fetched is noted there. The bucket is read over the
// protocol of S3: ListObjectsV2 and GetObject, with requests signed by Signature Version 4.

import { createHash, createHmac } from 'node:crypto';
import { createWriteStream, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { UsageError } from '../command.ts';
import { objectIn } from '../read.ts';
import { SendError } from './edge_client.ts';
import { isImportName } from './watch_folder.ts';

interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  /** Of temporary keys. */
  sessionToken: string | null;
  region: string;
}

/** Where a bucket is: an endpoint that is named takes its name in the path, AWS in the host. */
export interface Bucket {
  name: string;
  endpoint: string | null;
  credentials: S3Credentials;
}

interface S3Object {
  key: string;
  /** Another one whenever the contents are others. */
  etag: string;
}

const EMPTY_SHA256 = createHash('sha256').digest('hex');
/** Of an object, however large; what is silent for five minutes `fetch` ends itself. */
const FETCH_MS_MAX = 6 * 3_600_000;
const PAGE = 1_000;

const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** The headers of a GET request, signed. The URL is one whose path and parameters are encoded as `bucketUrl` does. */
export function signedHeaders(url: URL, credentials: S3Credentials, nowMs: number): Record<string, string> {
  const { accessKeyId, secretAccessKey, sessionToken, region } = credentials;
  const time = new Date(nowMs).toISOString().replace(/[-:]|\.\d+/g, '');
  const day = time.slice(0, 8);
  const headers: Record<string, string> = {
    host: url.host,
    'x-amz-content-sha256': EMPTY_SHA256,
    'x-amz-date': time,
    ...(sessionToken === null ? {} : { 'x-amz-security-token': sessionToken }),
  };
  const names = Object.keys(headers).join(';');
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
  const request = ['GET', url.pathname, url.search.slice(1), lines.join(''), names, EMPTY_SHA256].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const digest = createHash('sha256').update(request).digest('hex');
  const text = ['AWS4-HMAC-SHA256', time, scope, digest].join('\n');
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`);
  const signature = hmac(key, text).toString('hex');
  const { host: _host, ...sent } = headers;
  return {
    ...sent,
    authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope},SignedHeaders=${names},Signature=${signature}`,
  };
}

/** The address of a bucket, or of an object in it; its parameters in the order that signatures want. */
function bucketUrl({ name, endpoint, credentials }: Bucket, key: string, query: Record<string, string>): URL {
  // Certificates of AWS are for one label before its own.
  const isInHost = endpoint === null && !name.includes('.');
  const base = endpoint ?? `https://${isInHost ? `${name}.` : ''}s3.${credentials.region}.amazonaws.com`;
  const path = [...(isInHost ? [] : [name]), ...(key === '' ? [] : key.split('/'))].map(encoded).join('/');
  const search = Object.entries(query)
    .map(([field, value]) => `${encoded(field)}=${encoded(value)}`)
    .sort()
    .join('&');
  return new URL(`${base.replace(/\/$/, '')}/${path}${search === '' ? '' : `?${search}`}`);
}

/** All objects below a prefix, page by page. @throws UsageError; SendError where the bucket is away for now */
async function* listObjects(bucket: Bucket, prefix: string): AsyncGenerator<S3Object[]> {
  for (let token: string | null = null; ; ) {
    const query: Record<string, string> = {
      'list-type': '2',
      'encoding-type': 'url',
      'max-keys': String(PAGE),
      prefix,
    };
    if (token !== null) query['continuation-token'] = token;
    const response = await get(bucket, bucketUrl(bucket, '', query));
    const page = await response.text().catch(unavailable);
    const isEncoded = element(page, 'EncodingType') === 'url';
    yield [...page.matchAll(/<Contents>(.*?)<\/Contents>/gs)].map(([, contents = '']) => {
      const key = element(contents, 'Key') ?? '';
      return {
        key: isEncoded ? decodeURIComponent(key.replaceAll('+', '%20')) : key,
        etag: element(contents, 'ETag') ?? '',
      };
    });
    token = element(page, 'IsTruncated') === 'true' ? element(page, 'NextContinuationToken') : null;
    if (token === null) return;
  }
}

/**
 * Writes an object to a file; why there is none where it was changed, or may not be read now.
 *
 * @throws UsageError; SendError where the bucket is away for now
 */
async function fetchObject(bucket: Bucket, { key, etag }: S3Object, path: string): Promise<string | null> {
  const url = bucketUrl(bucket, key, {});
  const response = await get(bucket, url, { 'if-match': etag }, [403, 404, 412]);
  if (!response.ok) return problemOf(response, await response.text().catch(unavailable));
  if (response.body === null) throw new SendError('bucket_unavailable', 'an object came without its contents');
  const file = createWriteStream(path, { flush: true });
  await pipeline(Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0]), file).catch(unavailable);
  return null;
}

async function get(
  bucket: Bucket,
  url: URL,
  more: Record<string, string> = {},
  expected: readonly number[] = [],
): Promise<Response> {
  const headers = { ...signedHeaders(url, bucket.credentials, Date.now()), ...more };
  const signal = AbortSignal.timeout(FETCH_MS_MAX);
  const response = await fetch(url, { headers, signal, redirect: 'manual' }).catch(unavailable);
  if (response.ok || expected.includes(response.status)) return response;
  const problem = problemOf(response, await response.text().catch(unavailable));
  if (response.status >= 500 || response.status === 429) throw new SendError('bucket_unavailable', problem);
  throw new UsageError('bucket_refused', `${bucket.name}: ${problem}`);
}

function unavailable(cause: unknown): never {
  throw Object.assign(new SendError('bucket_unavailable', 'the bucket does not answer'), { cause });
}

/** What an answer says is wrong, without what it quotes. */
function problemOf({ status, headers }: Response, body: string): string {
  const code = /^\w{1,64}$/.exec(element(body, 'Code') ?? '')?.[0] ?? `status ${status}`;
  const region = headers.get('x-amz-bucket-region');
  return region === null ? code : `${code} (the bucket is in ${region}: AWS_REGION)`;
}

const SIGNS: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

function element(xml: string, name: string): string | null {
  const text = new RegExp(`<${name}>(.*?)</${name}>`, 's').exec(xml)?.[1];
  if (text === undefined) return null;
  return text.replace(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, (whole, decimal?: string, hex?: string, entity?: string) => {
    if (entity !== undefined) return SIGNS[entity] ?? whole;
    return String.fromCodePoint(decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal));
  });
}

/** `s3://bucket/prefix`; null for what is no such address. */
export function readBucketAddress(text: string): { name: string; prefix: string } | null {
  const [, name, prefix = ''] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/.exec(text) ?? [];
  return name === undefined ? null : { name, prefix };
}

/** Keys below the prefix, which are noted in memory and on disk. */
const OBJECTS_MAX = 100_000;
/** Files that wait in the folder at once. */
const FETCHED_MAX = 20;
const STATE = '.bucket.json';
const NAME_CHARACTERS_MAX = 150;

/**
 * Fetches some of the objects that are new, or others than they were, each time it is called. An object that was fetched just before
 * the process ended is fetched again, and its rows are repeats.
 *
 * @returns Whether there are more, and how many may not be read now.
 */
export function createBucketInbox(bucket: Bucket, prefix: string, folder: string, say: (line: string) => void) {
  const address = `${bucket.endpoint ?? ''} s3://${bucket.name}/${prefix}`;
  const path = join(folder, STATE);
  let fetched = readState(path, address);
  const refused = new Map<string, string>();

  return async (): Promise<{ hasMore: boolean; left: number }> => {
    const { found, fresh } = await look();
    for (const object of fresh.slice(0, FETCHED_MAX)) {
      const target = join(folder, fileName(object.key));
      const problem = await fetchObject(bucket, object, `${target}.part`);
      if (problem === null) {
        renameSync(`${target}.part`, target);
        found.set(object.key, object.etag);
        refused.delete(object.key);
      } else if (refused.get(object.key) !== problem) {
        refused.set(object.key, problem);
        say(`${object.key}: ${problem}; it is left, and looked at again`);
      }
    }
    if (fresh.length > 0 || found.size !== fetched.size) writeState(path, address, found);
    fetched = found;
    return { hasMore: fresh.slice(FETCHED_MAX).some(({ key }) => !refused.has(key)), left: refused.size };
  };

  /** What was fetched before and is still there, and what was not. */
  async function look(): Promise<{ found: Map<string, string>; fresh: S3Object[] }> {
    const found = new Map<string, string>();
    const fresh: S3Object[] = [];
    for await (const page of listObjects(bucket, prefix)) {
      for (const object of page) {
        if (!isImportName(basename(object.key)) || /(?:^|\/)\.{1,2}(?:\/|$)/.test(object.key)) continue;
        const before = fetched.get(object.key);
        if (before !== undefined) found.set(object.key, before);
        if (before !== object.etag) fresh.push(object);
      }
      if (found.size + fresh.length > OBJECTS_MAX) {
        const message = `there are more than ${OBJECTS_MAX} files: name a narrower prefix, or remove old ones`;
        throw new UsageError('bucket_too_large', message);
      }
    }
    // Those that may not be read now do not keep the others waiting.
    const isRefused = ({ key }: S3Object): number => Number(refused.has(key));
    return { found, fresh: fresh.sort((a, b) => isRefused(a) - isRefused(b)) };
  }
}

/** A name that no other key has, and that stays in the folder. */
function fileName(key: string): string {
  const name = encodeURIComponent(key);
  if (name.length <= NAME_CHARACTERS_MAX) return name;
  const digest = createHash('sha256').update(key).digest('hex');
  return `${name.slice(0, NAME_CHARACTERS_MAX - digest.length - 20).replace(/%[^%]?$/, '')}-${digest}${extname(key)}`;
}

function readState(path: string, address: string): Map<string, string> {
  if (!existsSync(path)) return new Map();
  const state = objectIn(readFileSync(path, 'utf8')) as { address: string; fetched: Record<string, string> } | null;
  if (state === null || state.address !== address) {
    throw new UsageError('folder_taken', `${path} is of another bucket: name another --folder`);
  }
  return new Map(Object.entries(state.fetched));
}

function writeState(path: string, address: string, fetched: ReadonlyMap<string, string>): void {
  writeFileSync(`${path}.new`, `${JSON.stringify({ address, fetched: Object.fromEntries(fetched) })}\n`, {
    flush: true,
  });
  renameSync(`${path}.new`, path);
}
