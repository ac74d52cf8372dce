import { hash, randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  createOneTimeNotes,
  createSessionStore,
  createSignInLimits,
  SESSION_IDLE_MS,
  SESSION_MS_MAX,
  type Session,
} from '#infra/redis/sessions.ts';
import { createRecordSeal, parseKeyRing } from '#infra/secrets/seal.ts';
import { uniqueName } from '#test/harness/kafka.ts';
import { useRedis } from '#test/harness/redis.ts';

const redis = useRedis();
const sealOf = () => createRecordSeal(parseKeyRing(`k1:${randomBytes(32).toString('base64')}`), randomBytes);
const seal = sealOf();
let nowMs = 0;
let userId = '';
beforeEach(() => {
  nowMs = Date.now();
  userId = uniqueName('u');
});

const store = () => createSessionStore(redis(), seal, () => nowMs);
const session = (changes: Partial<Session> = {}): Session => ({
  id: randomBytes(32).toString('hex'),
  userId,
  createdMs: nowMs,
  seenMs: nowMs,
  provenMs: nowMs,
  network: '127.0.0.1',
  browser: 'Firefox on Linux',
  ...changes,
});

describe('sessions', () => {
  test('are found, listed with the newest first, and ended by their user alone', async () => {
    const [first, second] = [session(), session({ createdMs: nowMs + 1 })];
    await store().begin(first);
    await store().begin(second);
    expect(await store().find(first.id)).toEqual(first);
    expect(await store().list(userId)).toEqual([second, first]);
    expect(await store().end('somebody-else', first.id)).toBe(false);
    expect(await store().end(userId, first.id)).toBe(true);
    expect(await store().find(first.id)).toBeNull();
    expect(await store().list(userId)).toEqual([second]);
    expect(await store().end(userId, first.id)).toBe(false);
  });

  test('say when they were proven as they began', async () => {
    const [one, unproven] = [session({ provenMs: nowMs - 7 }), session({ provenMs: null })];
    for (const begun of [one, unproven]) await store().begin(begun);
    const found = await Promise.all([one, unproven].map((each) => store().find(each.id)));
    expect(found.map((each) => each?.provenMs)).toEqual([nowMs - 7, null]);
  });

  test('and proofs and notes that a control service did not write are none, nor those of another session or of another key', async () => {
    const [own, other] = [session(), session()];
    await store().begin(own);
    const { id: _id, ...forged } = { ...own, userId: 'admin' };
    const others = createSessionStore(redis(), sealOf(), () => nowMs);
    await others.begin(other);
    await redis().set('session:forged', JSON.stringify(forged));
    await redis().set('session:moved', (await redis().get(`session:${own.id}`)) ?? '');
    await redis().set(`session_proof:${own.id}`, '1');
    for (const id of ['forged', 'moved', other.id]) expect(await store().find(id)).toBeNull();
    expect(await store().isRecentlyAuthenticated(own.id)).toBe(false);
    expect(await store().find(own.id)).toEqual(own);

    const notes = createOneTimeNotes(redis(), seal, () => nowMs);
    await redis().set(`once:invitation:${hash('sha256', 'mine')}`, JSON.stringify({ user: 'admin' }));
    expect(await notes.take('invitation', 'mine')).toBeNull();
    await notes.put('invitation', 'theirs', { user: 'ada' }, 60_000);
    expect(await notes.take('invitation', 'theirs')).toEqual({ user: 'ada' });
    expect(await notes.take('invitation', 'theirs')).toBeNull();
  });

  test('are proven one by one, for as long as is said, whatever else is written of them', async () => {
    const [one, other] = [session(), session()];
    await store().begin(one);
    await store().begin(other);
    await store().prove(one.id, 90_000);
    nowMs += 61_000;
    await store().find(one.id);
    expect([await store().isRecentlyAuthenticated(one.id), await store().isRecentlyAuthenticated(other.id)]).toEqual([
      true,
      false,
    ]);
    const leftMs = await redis().pttl(`session_proof:${one.id}`);
    expect(leftMs > 0 && leftMs <= 90_000).toBe(true);
    nowMs += 29_000;
    expect(await store().isRecentlyAuthenticated(one.id)).toBe(false);
  });

  test('hold the second factor that is set up in them, the last one alone, for as long as is said and they go on', async () => {
    const [one, other] = [session(), session()];
    for (const begun of [one, other]) await store().begin(begun);
    await store().holdFactor(one.id, 'sealed one', 120_000);
    await store().holdFactor(one.id, 'sealed two', 60_000);
    expect([await store().heldFactor(one.id), await store().heldFactor(other.id)]).toEqual(['sealed two', null]);
    expect(await redis().pttl(`session_factor:${one.id}`)).toBeLessThanOrEqual(60_000);
    await redis().pexpire(`session_factor:${one.id}`, 0);
    expect(await store().heldFactor(one.id)).toBeNull();
    await store().holdFactor(other.id, 'sealed', 60_000);
    expect(await store().end('somebody-else', other.id)).toBe(false);
    expect(await store().heldFactor(other.id)).toBe('sealed');
    await store().end(userId, other.id);
    expect(await redis().exists(`session_factor:${other.id}`)).toBe(0);
  });

  test('go on while they are seen, until their last day, and Redis forgets them', async () => {
    const one = session();
    await store().begin(one);
    nowMs += SESSION_IDLE_MS - 1;
    expect(await store().find(one.id)).toMatchObject({ seenMs: nowMs });
    nowMs += SESSION_IDLE_MS - 1;
    expect(await store().find(one.id)).not.toBeNull();
    expect(await redis().pttl(`session:${one.id}`)).toBeLessThanOrEqual(SESSION_IDLE_MS);
    nowMs += SESSION_IDLE_MS;
    expect(await store().find(one.id)).toBeNull();
    const old = session({ createdMs: nowMs - SESSION_MS_MAX + 1000 });
    await store().begin(old);
    expect(await redis().pttl(`session:${old.id}`)).toBeLessThanOrEqual(1000);
    nowMs += 1000;
    expect(await store().find(old.id)).toBeNull();
  });

  test('are fifty of a user at the most, of which the oldest make room', async () => {
    const all = Array.from({ length: 51 }, (_, index) => session({ createdMs: nowMs + index }));
    for (const one of all) await store().begin(one);
    const listed = (await store().list(userId)).map(({ id }) => id);
    expect(listed).toEqual(
      all
        .slice(1)
        .map(({ id }) => id)
        .toReversed(),
    );
  });
});

describe('tries to sign in', () => {
  test('of a user from one network are ten, whoever succeeds elsewhere', async () => {
    const limits = createSignInLimits(redis());
    for (let tries = 0; tries < 10; tries += 1) expect(await limits.tryPassword(userId, '10.0.0.1')).toBe(0);
    const wait = await limits.tryPassword(userId, '10.0.0.1');
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(900_000);
    expect(await limits.tryPassword(userId, '10.0.0.2')).toBe(0);
    await limits.forget(userId, '10.0.0.2');
    expect(await limits.tryPassword(userId, '10.0.0.1')).toBeGreaterThan(0);
    await limits.forget(userId, '10.0.0.1');
    expect(await limits.tryPassword(userId, '10.0.0.1')).toBe(0);
  });

  test('from everywhere lock nobody out of a network where they signed in before', async () => {
    const limits = createSignInLimits(redis());
    const [home, away] = [uniqueName('n'), uniqueName('n')];
    expect(await limits.isKnown(userId, home)).toBe(false);
    await limits.forget(userId, home);
    expect([await limits.isKnown(userId, home), await limits.isKnown(userId, away)]).toEqual([true, false]);
    const tries = Array.from({ length: 220 }, (_, at) => limits.tryPassword(userId, `${away}${at}`));
    expect((await Promise.all(tries)).filter((wait) => wait === 0)).toHaveLength(200);
    expect(await limits.tryPassword(userId, uniqueName('n'))).toBeGreaterThan(0);
    expect(await limits.tryPassword(userId, home)).toBe(0);
  });

  test('at once are not more than one after the other', async () => {
    const limits = createSignInLimits(redis());
    const waits = await Promise.all(Array.from({ length: 40 }, () => limits.tryPassword(userId, '10.0.1.1')));
    expect(waits.filter((wait) => wait === 0)).toHaveLength(10);
  });

  test('of one network are fifty, whoever they are of', async () => {
    const limits = createSignInLimits(redis());
    const network = uniqueName('n');
    const waits = await Promise.all(
      Array.from({ length: 60 }, (_, at) => limits.tryPassword(`${userId}${at}`, network)),
    );
    expect(waits.filter((wait) => wait === 0)).toHaveLength(50);
  });

  test('with a second factor are ten, and each code is used once', async () => {
    const limits = createSignInLimits(redis());
    const waits = await Promise.all(Array.from({ length: 12 }, () => limits.tryCode(userId)));
    expect(waits.filter((wait) => wait === 0)).toHaveLength(10);
    expect(await Promise.all([limits.useStep(userId, 7), limits.useStep(userId, 7)])).toEqual(
      expect.arrayContaining([true, false]),
    );
    expect(await limits.useStep(userId, 8)).toBe(true);
  });
});
