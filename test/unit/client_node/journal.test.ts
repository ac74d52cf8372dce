import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs, {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import type { SentEvent } from '#clients/node/src/client.ts';
import { openJournal } from '#clients/node/src/journal.ts';
import { cases } from '#test/harness/environment.ts';
import { accepted, createWorld, inTurn, refusing, type Service } from './harness.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'client-journal-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const ignore = (): void => undefined;
const entry = (uuid: string) => ({
  uuid,
  json: JSON.stringify({ event: 'e', uuid, properties: { name: 'Jürgen 🛒' } }),
});
const segments = (): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .sort();

/** What a process that is killed leaves: its files, and a lock of somebody who is gone. */
function kill(): void {
  for (const name of readdirSync(folder)) if (name.startsWith('lock.')) rmSync(join(folder, name));
}

/** The ids that are left in the folder. */
function left(): string[] {
  const journal = openJournal(folder, { fsync: 'never' });
  const uuids = journal.attach(ignore).map(({ uuid }) => uuid);
  journal.close();
  return uuids;
}

test.for(['always', 'interval', 'never'] as const)('fsync %s: what was not acknowledged is there again', (fsync) => {
  const journal = openJournal(folder, { fsync });
  expect(journal.attach(ignore)).toEqual([]);
  for (const uuid of ['a', 'b', 'c']) journal.append(entry(uuid));
  journal.acknowledge(['b', 'unknown']);
  kill();
  const next = openJournal(folder);
  expect(next.attach(ignore)).toEqual([entry('a'), entry('c')]);
  next.acknowledge(['a', 'c']);
  next.append(entry('d'));
  next.close();
  expect(left()).toEqual(['d']);
});

test('where nothing waits no file is left, and only the owner reads what does', () => {
  const journal = openJournal(folder);
  journal.attach(ignore);
  for (const uuid of ['a', 'b']) journal.append(entry(uuid));
  expect(statSync(join(folder, '00000001.jsonl')).mode & 0o777).toBe(0o600);
  journal.acknowledge(['a', 'b']);
  expect(segments()).toEqual([]);
  journal.close();
  expect(readdirSync(folder)).toEqual([]);
});

test('segments are ended at their size, and go from the oldest on', () => {
  const journal = openJournal(folder, { segmentBytes: 250 });
  journal.attach(ignore);
  const uuids = Array.from({ length: 12 }, (_, at) => `u${at}`);
  for (const uuid of uuids) journal.append(entry(uuid));
  const many = segments();
  expect(many.length).toBeGreaterThan(2);
  journal.acknowledge(uuids.slice(4, 8));
  expect(segments()[0]).toBe(many[0]);
  journal.acknowledge(uuids.slice(0, 4));
  expect(segments().length).toBeLessThan(many.length);
  kill();
  expect(left()).toEqual(uuids.slice(8));
});

test('the file is survived as it was cut at every byte', () => {
  const journal = openJournal(folder);
  journal.attach(ignore);
  const uuids = ['a', 'b', 'c', 'd'];
  const path = join(folder, '00000001.jsonl');
  /** How long the file was behind each step, and what waited then. */
  const steps: { bytes: number; waiting: string[] }[] = [{ bytes: 0, waiting: [] }];
  const step = (waiting: string[]): number => steps.push({ bytes: statSync(path).size, waiting });
  for (const [at, uuid] of uuids.entries()) {
    journal.append(entry(uuid));
    step(uuids.slice(0, at + 1));
  }
  journal.acknowledge(['a', 'c']);
  step(['b', 'd']);
  const whole = readFileSync(path);
  for (let bytes = 0; bytes <= whole.length; bytes += 1) {
    kill();
    writeFileSync(path, whole.subarray(0, bytes));
    const last = steps.findLast((one) => one.bytes <= bytes);
    const codes: string[] = [];
    const next = openJournal(folder);
    expect(
      next.attach((code) => codes.push(code)).map(({ uuid }) => uuid),
      `cut at ${bytes}`,
    ).toEqual(last?.waiting);
    expect(codes).toEqual(last?.bytes === bytes ? [] : ['journal_unreadable']);
    // What comes behind stands in a file of its own.
    next.append(entry('z'));
    next.close();
    expect(left()).toEqual([...(last?.waiting ?? []), 'z']);
    for (const name of segments()) rmSync(join(folder, name));
  }
});

test('zeros that a disk gives back for a line cost that line alone', () => {
  const journal = openJournal(folder);
  journal.attach(ignore);
  for (const uuid of ['a', 'b', 'c']) journal.append(entry(uuid));
  kill();
  const path = join(folder, '00000001.jsonl');
  const bytes = readFileSync(path);
  bytes.fill(0, entry('a').json.length + 10, entry('a').json.length + 30);
  writeFileSync(path, bytes);
  expect(left()).toEqual(['a', 'c']);
});

test('a journal serves one client once', () => {
  const journal = openJournal(folder);
  journal.attach(ignore);
  expect(() => journal.attach(ignore)).toThrow(expect.objectContaining({ code: 'journal_taken' }));
  expect(() => openJournal(folder)).toThrow(expect.objectContaining({ code: 'journal_locked' }));
  journal.close();
  expect(left()).toEqual([]);
});

test('a folder that cannot be made is a mistake', () => {
  writeFileSync(join(folder, 'file'), '');
  const open = (): unknown => openJournal(join(folder, 'file', 'journal'));
  expect(open).toThrow(expect.objectContaining({ code: 'journal_folder_invalid' }));
});

/** A process that has the folder until it is killed. */
async function startHolder(): Promise<ChildProcess> {
  const source = fileURLToPath(new URL('../../../clients/node/src/journal.ts', import.meta.url));
  const script = `import { openJournal } from ${JSON.stringify(source)};
    const journal = openJournal(${JSON.stringify(folder)});
    journal.attach(() => undefined);
    journal.append({ uuid: 'theirs', json: '{"event":"e","uuid":"theirs"}' });
    console.log('held');
    process.stdin.resume();`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [said] = (await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])) as [unknown];
  expect(String(said)).toBe('held\n');
  return child;
}

test('two processes on one folder refuse each other, and a dead one’s is taken over', async () => {
  const child = await startHolder();
  expect(() => openJournal(folder)).toThrow(expect.objectContaining({ code: 'journal_locked' }));
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(left()).toEqual(['theirs']);
});

test.for([
  ['of a process with this number before', { pid: process.pid, host: hostname(), started: 'another boot.1' }, 0, false],
  ['of a number that nobody has', { pid: 2 ** 22 + 1, host: hostname(), started: null }, 0, false],
  ['of another machine that lives', { pid: 1, host: 'other', started: null }, 30_000, true],
  ['of another machine that is silent', { pid: 1, host: 'other', started: null }, 90_000, false],
  ['being written', null, 0, true],
  ['that a power failure left empty', null, 90_000, false],
] as const)('a lock %s', ([, holder, ageMs, isHeld]) => {
  const path = join(folder, 'lock.1-abc');
  writeFileSync(path, holder === null ? '' : JSON.stringify(holder));
  const then = new Date(statSync(path).mtimeMs - ageMs);
  utimesSync(path, then, then);
  if (isHeld) expect(() => openJournal(folder)).toThrow(expect.objectContaining({ code: 'journal_locked' }));
  else expect(left()).toEqual([]);
});

test('a client sends what one before it left, once, and then nothing is left', async () => {
  const down = createWorld(() => new Error('down'));
  const before = down.client({ journal: openJournal(folder), flushAt: 2 });
  for (const uuid of ['a', 'b', 'c']) before.track({ event: 'e', uuid });
  const ending = before.shutdown({ deadlineMs: 1_000 });
  await down.pass(1_000);
  expect(await ending).toEqual({ ok: false, pending: 3 });
  expect(down.codes()).not.toContain('shutdown_deadline');

  const up = createWorld(accepted);
  const client = up.client({ journal: openJournal(folder) });
  await up.pass(0);
  expect(up.sentUuids()).toEqual([['a', 'b', 'c']]);
  expect(up.requests[0]?.events).toEqual(down.requests.at(-1)?.events.concat(up.requests[0]?.events.slice(-1) ?? []));
  expect(await client.shutdown()).toEqual({ ok: true, pending: 0 });
  expect(readdirSync(folder)).toEqual([]);
});

test('with a wrong key events stay in the journal, and are tried again now and then', async () => {
  const wrong: Service = () => refusing(403, 'key_expired');
  const world = createWorld(inTurn(wrong, wrong, accepted));
  const client = world.client({ journal: openJournal(folder) });
  client.track({ event: 'e', uuid: 'a' });
  const flushed = client.flush();
  await world.pass(60_000);
  client.track({ event: 'e', uuid: 'b' });
  await world.pass(60_000);
  expect(await flushed).toEqual({ ok: false, pending: 1 });
  expect(world.requests).toHaveLength(1);
  expect(world.told.problems).toMatchObject([
    { code: 'key_refused', detail: 'key_expired', willRetry: true, events: [] },
  ]);
  await world.pass(1_200_000);
  expect(world.sentUuids()).toEqual([['a'], ['a', 'b'], ['a', 'b']]);
  expect(await client.shutdown()).toEqual({ ok: true, pending: 0 });
});

test('with a wrong key to the end events wait for a client with another', async () => {
  const world = createWorld(() => refusing(401, 'key_unknown'));
  const client = world.client({ journal: openJournal(folder) });
  for (const uuid of ['a', 'b']) client.track({ event: 'e', uuid });
  await world.pass(60_000);
  expect(await client.shutdown()).toEqual({ ok: false, pending: 2 });
  expect(world.codes()).toEqual(['key_refused']);
  expect(left()).toEqual(['a', 'b']);
});

test('a journal that cannot be written is reported once, and events are sent all the same', async () => {
  const world = createWorld(accepted);
  const client = world.client({ journal: openJournal(folder) });
  rmSync(folder, { recursive: true });
  for (const uuid of ['a', 'b']) expect(client.track({ event: 'e', uuid })).toMatchObject({ ok: true });
  await world.pass(1_000);
  expect(world.sentUuids()).toEqual([['a', 'b']]);
  expect(world.told.problems).toMatchObject([{ code: 'journal_failed', willRetry: true }]);
  await client.shutdown();
});

/** A disk that takes half of what is written, and then nothing more, as long as it is full. */
function fillDisk(): () => void {
  const { writeSync } = fs;
  const full = (fd: number, bytes: Buffer, at: number): number => {
    writeSync(fd, bytes, at, Math.floor((bytes.length - at) / 2));
    throw Object.assign(new Error('full'), { code: 'ENOSPC' });
  };
  const put = (write: unknown): void => {
    Object.assign(fs, { writeSync: write });
    syncBuiltinESMExports();
  };
  put(full);
  onTestFinished(() => put(writeSync));
  return () => put(writeSync);
}

test('a full disk makes no files and no rubbish, and what it did not take is reported at the end', async () => {
  const world = createWorld(() => new Error('down'));
  const client = world.client({ journal: openJournal(folder) });
  client.track({ event: 'e', uuid: 'a' });
  const makeRoom = fillDisk();
  for (const uuid of ['b', 'c', 'd']) client.track({ event: 'e', uuid });
  expect(segments()).toHaveLength(1);
  makeRoom();
  client.track({ event: 'e', uuid: 'f' });
  const ending = client.shutdown({ deadlineMs: 1_000 });
  await world.pass(1_000);
  expect(await ending).toEqual({ ok: false, pending: 5 });
  expect(world.codes().filter((code) => code === 'journal_failed')).toHaveLength(1);
  expect(world.told.problems.at(-1)).toMatchObject({ code: 'shutdown_deadline', willRetry: false });
  expect(world.told.problems.at(-1)?.events.map(({ uuid }) => uuid)).toEqual(['b', 'c', 'd']);
  const codes: string[] = [];
  const next = openJournal(folder);
  expect(next.attach((code) => codes.push(code)).map(({ uuid }) => uuid)).toEqual(['a', 'f']);
  expect(codes).toEqual([]);
  next.close();
});

test('the queue’s bound holds for the journal', async () => {
  const world = createWorld(() => new Error('down'));
  const client = world.client({ journal: openJournal(folder), queueEventsMax: 2 });
  for (const uuid of ['a', 'b', 'c']) client.track({ event: 'e', uuid });
  kill();
  expect(left()).toEqual(['a', 'b']);
});

type Life = { tracked: number; passMs: number; draws: number[]; tornBytes: number };
const life: fc.Arbitrary<Life> = fc.record({
  tracked: fc.nat(60),
  passMs: fc.nat(3_000),
  draws: fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 6 }),
  // Of the last line, which was being written when the process died.
  tornBytes: fc.constantFrom(0, 0, 5),
});

test('over any lives and deaths each event that was tracked is stored, and acknowledged ones are not sent again', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(life, { minLength: 1, maxLength: 6 }), async (lives) => {
      const stored = new Set<string>();
      const answered = new Set<string>();
      const expected: string[] = [];
      const repeated: string[] = [];
      const store = (events: readonly SentEvent[]): void => {
        for (const { uuid } of events) {
          if (answered.has(uuid)) repeated.push(uuid);
          stored.add(uuid);
        }
      };
      const outcomes: Service[] = [
        () => new Error('reset'),
        (request) => {
          store(request.events);
          return new Error('the answer was lost');
        },
        () => 'hang',
        () => ({ body: '<html>Welcome</html>' }),
      ];
      const deliver: Service = (request) => {
        store(request.events);
        for (const { uuid } of request.events) answered.add(uuid);
        return accepted(request);
      };
      let made = 0;
      for (const [at, { tracked, passMs, draws, tornBytes }] of lives.entries()) {
        const world = createWorld(inTurn(...draws.map((draw) => outcomes[draw] ?? deliver), deliver), () => 0.3);
        const client = world.client({ journal: openJournal(folder, { segmentBytes: 2_000, fsync: 'never' }) });
        for (let count = 0; count < tracked; count += 1) {
          made += 1;
          const uuid = `u${made}`;
          expect(client.track({ event: 'e', uuid }).ok).toBe(true);
          expected.push(uuid);
        }
        await world.pass(at === lives.length - 1 ? 3_600_000 : passMs);
        kill();
        const last = segments().at(-1);
        if (last === undefined || tornBytes === 0) continue;
        const path = join(folder, last);
        const size = statSync(path).size;
        const whole = readFileSync(path, 'utf8').trimEnd().split('\n').at(-1) ?? '';
        if (size <= tornBytes) continue;
        truncateSync(path, size - tornBytes);
        const torn = JSON.parse(whole) as { uuid?: string; acknowledged?: string[] };
        // An event that was never whole on the disk was never tracked; an acknowledgement that was not may be repeated.
        if (torn.uuid !== undefined && !stored.has(torn.uuid)) expected.splice(expected.indexOf(torn.uuid), 1);
        for (const uuid of torn.acknowledged ?? []) answered.delete(uuid);
      }
      const world = createWorld(deliver);
      const client = world.client({ journal: openJournal(folder) });
      await world.pass(0);
      expect(await client.shutdown()).toEqual({ ok: true, pending: 0 });
      expect(expected.filter((uuid) => !stored.has(uuid))).toEqual([]);
      expect(repeated).toEqual([]);
      expect(readdirSync(folder)).toEqual([]);
    }),
    { numRuns: cases(40) },
  );
});
