// Which rows of a file were there before: on disk, in a database that is gone with the process, as files may have any size.

import { hash } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { type Cells, contentsOf, type RowKey } from './row_event.ts';

/** What was seen of a row's key. `number`: which of the rows with its contents it is, from 1 on. */
type Seen = { kind: 'first' | 'again'; number: number } | { kind: 'other_contents'; line: number };

export interface SeenRows {
  /** Notes a row; the order of the rows decides, so that the same file has the same numbers each time. */
  note(key: RowKey, cells: Cells, line: number): Seen;
  close(): void;
}

const CACHE_KIB = 16 * 1024;
const DIGEST_BYTES = 16;

/** Memory is bounded by the cache; a row takes about 60 bytes of the folder for temporary files. */
export function openSeenRows(): SeenRows {
  // Without a name it is a file that is unlinked as soon as it is made.
  const database = new DatabaseSync('');
  database.exec(`PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -${CACHE_KIB};
    CREATE TABLE seen (key BLOB PRIMARY KEY, times INTEGER, line INTEGER, contents BLOB) WITHOUT ROWID; BEGIN`);
  const put = database.prepare(`INSERT INTO seen VALUES (?, 1, ?, ?) ON CONFLICT DO UPDATE SET times = times + 1
    RETURNING times, line, contents`);
  return {
    note(key, cells, line) {
      const isNamed = key.by !== 'contents';
      const contents = isNamed ? digest(JSON.stringify(contentsOf(cells))) : Buffer.alloc(0);
      const found = put.get(digest(textOf(key)), line, contents) as
        | { times: number; line: number; contents: Uint8Array }
        | undefined;
      const { times = 1, line: firstLine = line, contents: firstContents = contents } = found ?? {};
      if (!isNamed) return { kind: 'first', number: times };
      if (times === 1) return { kind: 'first', number: 1 };
      return contents.equals(firstContents)
        ? { kind: 'again', number: 1 }
        : { kind: 'other_contents', line: firstLine };
    },
    close: () => database.close(),
  };
}

function textOf(key: RowKey): string {
  if (key.by === 'uuid') return `uuid ${key.uuid}`;
  return key.by === 'name' ? key.name : key.contents;
}

const digest = (text: string): Buffer => hash('sha256', text, 'buffer').subarray(0, DIGEST_BYTES);
