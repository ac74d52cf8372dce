// New objects of a bucket, as files of a folder that is watched; which were fetched is noted there.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { UsageError } from '../command.ts';
import { objectIn } from '../read.ts';
import { type Bucket, fetchObject, listObjects, type S3Object } from './s3_client.ts';
import { isImportName } from './watch_folder.ts';

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
