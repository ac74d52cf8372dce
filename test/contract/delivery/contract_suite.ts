import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createEgress, EGRESS_DEFAULTS, type Egress } from '#infra/egress/send.ts';
import {
  BREAKER_DEFAULTS,
  type Breakers,
  createBreakers,
  createRejectionTracker,
  type RejectionTracker,
  SAME_REJECTION_MIN,
} from '#pipelines/delivery/breaker.ts';
import { createSiteConcurrencyLimiter } from '#pipelines/delivery/concurrency.ts';
import type { EntryOutcome, HttpRequest } from '#pipelines/delivery/contract.ts';
import { deliver } from '#pipelines/delivery/deliver.ts';
import { createTokens, type DeliveryJob, type TokenStore } from '#pipelines/delivery/delivery_run.ts';
import { readSettings } from '#pipelines/delivery/setting_fields.ts';
import type { EventEntry } from '#schemas/event.ts';
import { TAG_DEFAULTS } from '#schemas/setting.ts';
import type { Rule, Standin } from '#services/local/platforms/standin.ts';
import { entryOf, manyEntries, NOW_MS, siteOf } from '#test/unit/delivery/entries.ts';
import { PAGE } from './case_builders.ts';
import { PERMISSIONS, REFUSALS, RESTRICTIONS } from './privacy_flags.ts';
import type { Subject } from './subject.ts';

/** The deadline where a platform that never answers is played. */
const HANG_TIMEOUT_MS = 250;
const REFUSED_ID = 'event_5';

const NOBODYS_ADDRESSES = [
  '127.0.0.1',
  '10.20.30.40',
  '172.20.0.9',
  '192.168.7.7',
  '169.254.10.10',
  '100.77.1.2',
  'fd12:3456:789a::1',
  'fe80::abcd',
  '::1',
  '::ffff:192.168.7.7',
];
const LIBRARIES = ['node', 'axios/1.7.2', 'python-requests/2.31.0', 'okhttp/4.12.0'];

/** Everything an event may hold of a person; a destination may send of it only what its own rules allow. */
const personalEntry = (): EventEntry =>
  entryOf({
    city: 'Sonderburg',
    state: 'Midtjylland',
    zip: 'QX77 9ZZ',
    country: 'DK',
    client_ip: '198.51.100.77',
    identifiers: { email: 'ab'.repeat(32), phone: 'cd'.repeat(32), phone_digits: 'ef'.repeat(32) },
  });

interface Bench {
  standin: Standin;
  egress: Egress;
  breakers: Breakers;
  rejections: RejectionTracker;
  tokens: TokenStore;
  clockMs: number;
  sent: HttpRequest[];
}

/** The rules every destination holds against its platform's stand-in, over real sockets. */
export function contractSuite(subject: Subject): void {
  const { adapter, entryChanges = {} } = subject;
  const some = (count: number): EventEntry[] => manyEntries(count, entryChanges);
  let bench: Bench;

  async function open(): Promise<void> {
    const clock = (): number => bench.clockMs;
    const options = { nowMs: clock, refusedIds: new Set([REFUSED_ID]) };
    bench = {
      standin: await subject.start(options),
      egress: createEgress({ ...EGRESS_DEFAULTS, allowHttp: true, allowLoopback: true }),
      breakers: createBreakers(BREAKER_DEFAULTS, 100, clock),
      rejections: createRejectionTracker(10, clock),
      tokens: createTokens(10),
      clockMs: NOW_MS,
      sent: [],
    };
  }

  async function close(): Promise<void> {
    await bench.egress.close();
    await bench.standin.stop();
  }

  beforeEach(open);
  afterEach(close);

  /** Checks each row of a table on a bench of its own, softly, so that a test shows all rows that miss. */
  async function eachAnew<Row>(rows: readonly Row[], check: (row: Row) => Promise<void>): Promise<void> {
    for (const row of rows) {
      await close();
      await open();
      await check(row);
    }
  }

  function run(entries: readonly EventEntry[], changes: Partial<DeliveryJob> = {}): Promise<EntryOutcome[]> {
    const { standin, egress, breakers, tokens, sent } = bench;
    const job: DeliveryJob = {
      adapter,
      destination: adapter.name,
      rules: [],
      site: siteOf(),
      settings: subject.settings(standin),
      secrets: subject.secrets,
      baseUrl: subject.baseUrl(standin),
      entries,
      attempt: 1,
      nowMs: bench.clockMs,
      ...changes,
    };
    return deliver(job, {
      nowMs: () => bench.clockMs,
      monotonicMs: () => bench.clockMs,
      breaker: breakers.of(adapter.name, job.site.site_id),
      turns: createSiteConcurrencyLimiter(100),
      tokens,
      rejections: bench.rejections.of(job.site.site_id),
      stopping: () => false,
      answered: () => undefined,
      onPartialSuccess: () => undefined,
      send: (request, timeoutMs) => {
        if (subject.isTokenRequest?.(request) !== true) sent.push(request);
        const hangs = standin.script.list().some(({ fault }) => fault.kind === 'hang');
        return egress.send(request, hangs ? Math.min(timeoutMs, HANG_TIMEOUT_MS) : timeoutMs);
      },
    });
  }

  function readOrFail(): unknown {
    const read = readSettings(adapter, subject.settings(bench.standin), subject.secrets);
    if (read.kind === 'invalid') expect.fail(`invalid settings: ${read.fields.join(', ')}`);
    return read.settings;
  }

  const script = (...rules: Rule[]): void => bench.standin.script.set(rules);
  const ledger = () => bench.standin.ledger.page(0, 10_000);
  const acceptedIds = (): string[] =>
    ledger()
      .events.map((event) => event.event_id)
      .sort();
  const idsOf = (count: number): string[] => Array.from({ length: count }, (_, place) => `event_${place}`);
  const goodEntries = some(4);
  const goodIds = ['event_0', 'event_1', 'event_2', 'event_3'];

  describe(`${adapter.name}: delivery`, () => {
    it('delivers each event once', async () => {
      const outcomes = await run(goodEntries);
      expect(outcomes.map((outcome) => outcome.outcome)).toEqual(Array(4).fill('delivered'));
      expect(acceptedIds()).toEqual(goodIds);
      expect(ledger()).toMatchObject({ first: 4, repeated: 0 });
    });

    it('keeps to its own limits', async () => {
      const { batchEventsMax, batchBytesMax, concurrencyMax, timeoutMs } = adapter.limits(readOrFail());
      expect(Math.min(batchEventsMax, batchBytesMax, concurrencyMax)).toBeGreaterThan(0);
      expect(timeoutMs).toBeLessThanOrEqual(30_000);
      const count = Math.min(batchEventsMax + 1, 1_500);
      await run(some(count).filter((entry) => entry.event.event_id !== REFUSED_ID));
      expect(bench.sent.length).toBeGreaterThanOrEqual(Math.floor(count / batchEventsMax));
      for (const { body } of bench.sent) expect(Buffer.byteLength(body)).toBeLessThanOrEqual(batchBytesMax);
    });

    it('sends the same idempotency key again, so that a re-send has no second effect', async () => {
      script({ fault: { kind: 'accept_then_reset' } });
      const first = await run(goodEntries);
      expect(new Set(first.map((outcome) => `${outcome.outcome} ${outcome.reason}`))).toEqual(
        new Set(['diverted reset']),
      );
      script();
      bench.clockMs += 60_000;
      const second = await run(goodEntries, { attempt: 2 });
      expect(second.every((outcome) => outcome.outcome === 'delivered')).toBe(true);
      expect(ledger()).toMatchObject({ first: 4, repeated: 4, effects: adapter.repetition === undefined ? 4 : 8 });
    });
  });

  describe(`${adapter.name}: a platform in trouble`, () => {
    const troubles: [string, Rule['fault'], string][] = [
      ['a server error', { kind: 'status', status: 503 }, 'http_503'],
      ['a page in place of an answer', { kind: 'html' }, ''],
      ['no answer in time', { kind: 'hang' }, 'timeout'],
      ['a broken connection', { kind: 'reset' }, 'reset'],
    ];
    it.each(troubles)('retries after %s, and delivers once when it has passed', async (_, fault, reason) => {
      script({ fault });
      const failed = await run(goodEntries);
      expect(new Set(failed.map((outcome) => outcome.outcome))).toEqual(new Set(['diverted']));
      if (reason !== '') expect(failed[0]?.reason).toBe(reason);
      expect(ledger().first).toBe(0);
      script();
      bench.clockMs += BREAKER_DEFAULTS.openMsMax;
      const healed = await run(goodEntries, { attempt: 2 });
      expect(healed.every((outcome) => outcome.outcome === 'delivered')).toBe(true);
      expect(ledger()).toMatchObject({ first: 4, repeated: 0 });
    });

    it('obeys Retry-After', async () => {
      script({ fault: { kind: 'throttle', retry_after_s: 90 }, times: 1 });
      const [throttled] = await run(goodEntries.slice(0, 1));
      expect(throttled).toMatchObject({ outcome: 'diverted', retryAfterMs: 90_000 });
      bench.clockMs += 89_000;
      expect(await run(goodEntries.slice(0, 1))).toMatchObject([{ outcome: 'paused', reason: 'throttled' }]);
      expect(bench.sent).toHaveLength(1);
      bench.clockMs += 1_000;
      expect(await run(goodEntries.slice(0, 1), { attempt: 2 })).toMatchObject([{ outcome: 'delivered' }]);
    });

    it('stops calling a platform that keeps failing, and one call finds out that it has healed', async () => {
      script({ fault: { kind: 'status', status: 500 } });
      for (let call = 0; call < 20; call += 1) await run(goodEntries.slice(0, 1));
      expect(bench.sent).toHaveLength(BREAKER_DEFAULTS.failuresMax);
      script();
      bench.clockMs += BREAKER_DEFAULTS.openMs;
      expect((await run(goodEntries)).every((outcome) => outcome.outcome === 'delivered')).toBe(true);
    });
  });

  describe(`${adapter.name}: what is wrong with an event or a site`, () => {
    if (subject.neverRefuses === true) {
      it('cannot learn of an event that the platform drops in silence, which harms none of its mates', async () => {
        const outcomes = await run(some(9));
        expect(new Set(outcomes.map((outcome) => outcome.outcome))).toEqual(new Set(['delivered']));
        expect(ledger()).toMatchObject({ first: 8, repeated: 0 });
      });
    } else {
      it('isolates an event that the platform refuses: it is dead, its mates are delivered once', async () => {
        const outcomes = await run(some(9));
        const byId = outcomes.map((outcome, index) => [`event_${index}`, outcome.outcome] as const);
        expect(byId.filter(([, outcome]) => outcome === 'dead')).toEqual([[REFUSED_ID, 'dead']]);
        expect(byId.filter(([, outcome]) => outcome === 'delivered')).toHaveLength(8);
        expect(ledger()).toMatchObject({ first: 8, repeated: 0 });
      });

      it('kills an event that is refused alone, with a stable reason, at its third attempt at the latest', async () => {
        const refused = [entryOf({ ...entryChanges, event_id: REFUSED_ID })];
        for (let attempt = 1; attempt <= 2; attempt++) {
          expect((await run(refused, { attempt }))[0]?.outcome).toMatch(/^(dead|diverted)$/);
        }
        const [outcome] = await run(refused, { attempt: 3 });
        expect(outcome?.outcome).toBe('dead');
        expect(outcome?.reason).toMatch(/^[a-z][a-z0-9_]*$/);
        expect(await run(goodEntries)).toMatchObject(Array(4).fill({ outcome: 'delivered' }));
      });
    }

    it('pauses a site whose credentials the platform no longer takes, and resumes when they are replaced', async () => {
      if (subject.brokenRule !== null) script(subject.brokenRule);
      const broken = await run(goodEntries, { secrets: subject.brokenSecrets });
      expect(new Set(broken.map((outcome) => outcome.outcome))).toEqual(new Set(['paused']));
      const calls = bench.sent.length;
      await run(goodEntries, { secrets: subject.brokenSecrets });
      expect(bench.sent).toHaveLength(calls);
      const neighbour = await run(goodEntries, { site: siteOf({ site_id: 'site_2' }) });
      expect(new Set(neighbour.map((outcome) => outcome.outcome))).toEqual(new Set(['delivered']));
      script();
      bench.breakers.reset(adapter.name, 'site_1');
      const resumed = await run(goodEntries);
      expect(resumed.every((outcome) => outcome.outcome === 'delivered')).toBe(true);
    });

    it('pauses a site all of whose events are refused alike, and lets none of them die', async () => {
      const entries = some(60).filter((entry) => entry.event.event_id !== REFUSED_ID);
      const { batchEventsMax } = adapter.limits(readOrFail());
      script({ fault: { kind: 'status', status: 400, body: '{}', headers: { 'content-type': 'application/json' } } });
      const outcomes = await run(entries);
      expect(new Set(outcomes.map(({ outcome }) => outcome))).toEqual(new Set(['paused']));
      const batches = Math.ceil(entries.length / batchEventsMax);
      expect(bench.sent.length).toBeLessThanOrEqual(Math.min(batches, 8) * (1 + SAME_REJECTION_MIN) + 8);
      const calls = bench.sent.length;
      await run(entries);
      expect(bench.sent).toHaveLength(calls);
      script();
      bench.clockMs += BREAKER_DEFAULTS.brokenOpenMs;
      const healed = await run(entries);
      expect(new Set(healed.map(({ outcome }) => outcome))).toEqual(new Set(['delivered']));
      expect(ledger()).toMatchObject({ first: entries.length, repeated: 0 });
    });

    it('pauses on settings that are missing, without a call', async () => {
      const outcomes = await run(goodEntries, { settings: {}, secrets: {} });
      expect(outcomes[0]).toMatchObject({ outcome: 'paused', reason: 'settings_invalid' });
      expect(bench.sent).toEqual([]);
    });
  });

  describe(`${adapter.name}: privacy`, () => {
    it('puts no raw personal data and no secret where it does not belong', async () => {
      const outcomes = await run([personalEntry()]);
      expect(outcomes[0]?.outcome).toBe('delivered');
      for (const { url, headers, body } of bench.sent) {
        const texts = [url, body, ...Object.values(headers)].join('\n');
        for (const text of subject.forbidden) expect(texts).not.toContain(text);
        for (const [name, secret] of Object.entries(subject.secrets)) {
          if (subject.secretsInUrl?.includes(name) !== true) expect(url).not.toContain(encodeURIComponent(secret));
        }
      }
    });

    it('repeats nothing of what a platform says in an outcome, but an excerpt of its answer without personal data', async () => {
      const echo = JSON.stringify({ error: { message: 'jane@example.com', code: 100, error_user_msg: 'for Jane' } });
      const excerpts: string[] = [];
      for (const status of [400, 403, 422, 500]) {
        script({ fault: { kind: 'status', status, body: echo, headers: { 'x-echo': 'jane@example.com' } } });
        bench.breakers.reset(adapter.name, 'site_1');
        const outcomes = await run(goodEntries.slice(0, 1));
        expect(JSON.stringify(outcomes.map(({ answer: _answer, ...judged }) => judged))).not.toMatch(/jane/i);
        expect(JSON.stringify(outcomes)).not.toContain('jane@');
        excerpts.push(...outcomes.flatMap(({ answer }) => answer?.body ?? []));
      }
      expect(excerpts).not.toEqual([]);
      for (const excerpt of excerpts) expect(excerpt).toContain('for Jane');
    });

    it('adds no known identifier to an event taken anonymously', async () => {
      const person = {
        person_id: 'person_9',
        identifiers: entryOf({ identifiers: { email: '9f'.repeat(32) } }).event.identifiers,
      };
      const outcomes = await run([entryOf({ mode: 'offline', identifiers: null, person })]);
      expect(outcomes[0]?.outcome).toBe(adapter.anonymousEvents === 'skip' ? 'skipped' : 'delivered');
      for (const { body } of bench.sent) expect(body).not.toMatch(/9f9f9f9f|person_9/);
    });
  });

  describe(`${adapter.name}: consent`, () => {
    const bodyOf = async (properties: object): Promise<string | undefined> => {
      bench.sent = [];
      const [outcome] = await run([entryOf({ ...entryChanges, properties: { ...PAGE, ...properties } })]);
      if (outcome?.outcome === 'skipped') expect(outcome.reason).toBe('consent_denied');
      else expect(outcome?.outcome).toBe('delivered');
      return bench.sent[0]?.body;
    };

    it('holds whatever shape a refusal has', async () => {
      const skipped = adapter.advertising !== 'none';
      for (const properties of REFUSALS) {
        expect((await bodyOf(properties)) === undefined, JSON.stringify(properties)).toBe(skipped);
      }
      for (const properties of PERMISSIONS) {
        expect(await bodyOf(properties), JSON.stringify(properties)).toBeDefined();
      }
    });

    it('holds Global Privacy Control where the site respects it', async () => {
      const isHeld = adapter.advertising !== 'none';
      const outcomeOf = async ($gpc: unknown, respect_gpc: boolean) => {
        const entries = [entryOf({ ...entryChanges, properties: { ...PAGE, $gpc } })];
        return (await run(entries, { site: siteOf({ tag: { ...TAG_DEFAULTS, respect_gpc } }) }))[0];
      };
      for (const said of [true, 'true', 'perhaps']) {
        expect(await outcomeOf(said, true)).toMatchObject(
          isHeld ? { outcome: 'skipped', reason: 'gpc' } : { outcome: 'delivered' },
        );
      }
      expect(await outcomeOf(false, true)).toMatchObject({ outcome: 'delivered' });
      expect(await outcomeOf(true, false)).not.toMatchObject({ reason: 'gpc' });
    });

    it('tells the platform of limited use, or does not send', async () => {
      if (adapter.advertising === 'none') return;
      const unrestricted = await bodyOf({});
      for (const properties of RESTRICTIONS) {
        const body = await bodyOf(properties);
        if (adapter.advertising === 'unrestrictable') expect(body, JSON.stringify(properties)).toBeUndefined();
        else expect(body, JSON.stringify(properties)).not.toBe(unrestricted);
      }
    });
  });

  describe(`${adapter.name}: device`, () => {
    const withAddress = () => ({ ...subject.settings(bench.standin), include_client_ip: 'yes' });

    it('an address that is nobody’s is not told', () =>
      eachAnew(NOBODYS_ADDRESSES, async (client_ip) => {
        await run([entryOf({ ...entryChanges, client_ip })], { settings: withAddress() });
        const hashed = createHash('sha256').update(client_ip).digest('hex');
        for (const { body } of bench.sent) {
          expect.soft(body, client_ip).not.toMatch(new RegExp(`"${client_ip}"|${hashed}`));
        }
        expect.soft(bench.sent, client_ip).toHaveLength(1);
      }));

    it('the user agent of a library is no shopper’s, and is not told', () =>
      eachAnew(LIBRARIES, async (client_user_agent) => {
        const [outcome] = await run([entryOf({ ...entryChanges, client_user_agent })], { settings: withAddress() });
        for (const { body } of bench.sent) expect.soft(body).not.toContain(`"${client_user_agent}"`);
        if (bench.sent.length === 0) {
          expect.soft(outcome?.reason, client_user_agent).toBe('missing_client_user_agent');
        }
      }));

    it('of a sale without a browser it is no identity', async () => {
      if (adapter.advertising === 'none') return;
      const entry = entryOf({ ...entryChanges, identifiers: null, action_source: 'physical_store', properties: {} });
      const [outcome] = await run([entry], {
        settings: { ...withAddress(), offline_event_set_id: '700001', crm_event_set_id: '700002' },
      });
      expect(outcome).toMatchObject({ outcome: 'skipped', reason: 'insufficient_user_data' });
    });
  });

  describe(`${adapter.name}: settings`, () => {
    it('have a title each, and are texts', () => {
      for (const [name, field] of Object.entries(adapter.schema.properties)) {
        expect(field, name).toHaveProperty('title');
      }
      expect(adapter.name).toMatch(/^[a-z][a-z0-9_]*$/);
    });
  });

  describe(`${adapter.name}: mapping`, () => {
    it(`has at least ${subject.casesMin} cases`, () =>
      expect(subject.cases.length).toBeGreaterThanOrEqual(subject.casesMin));

    it('makes of each event what its case says', () =>
      eachAnew(subject.cases, async ({ title, entry, expected, ...one }) => {
        const settings = { ...subject.settings(bench.standin), ...one.settings };
        const [outcome] = await run([entry], { settings, site: siteOf(one.site) });
        if ('skip' in expected) {
          expect.soft(outcome, title).toMatchObject({ outcome: 'skipped', reason: expected.skip });
          return;
        }
        const body: unknown = JSON.parse(bench.sent[0]?.body ?? 'null');
        expect.soft(body, title).toMatchObject(expected.form);
        for (const path of expected.without ?? []) expect.soft(body, title).not.toHaveProperty(path);
        const { pathname, search } = new URL(bench.sent[0]?.url ?? 'none:');
        if (expected.path !== undefined) expect.soft(pathname + search, title).toBe(expected.path);
        // The stand-in's own reading of the platform's rules took it.
        expect.soft(outcome, title).toMatchObject({ outcome: 'delivered' });
        expect.soft(ledger().first, title).toBe(1);
      }));
  });

  describe(`${adapter.name}: answers`, () => {
    it('means by each answer what its case says', () => {
      for (const { title, answer, count, expected } of subject.answers) {
        expect.soft(adapter.classify(answer, idsOf(count ?? 1)), title).toMatchObject(expected);
      }
      expect(subject.answers.length).toBeGreaterThan(0);
    });

    it('keep texts of the platform out of reasons and details', () => {
      for (const { answer, count } of subject.answers) {
        const verdict = adapter.classify(answer, idsOf(count ?? 1));
        const verdicts = verdict.kind === 'per_event' ? verdict.verdicts : [verdict];
        for (const one of verdicts) if ('reason' in one) expect(one.reason).toMatch(/^[a-z][a-z0-9_]*$/);
      }
    });
  });
}
