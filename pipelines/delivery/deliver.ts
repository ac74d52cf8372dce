// The delivery of one batch of events to one destination: which events go, and in what batches.

import {
  consentState,
  declaredConsent,
  isRestricted,
  type PrivacyChoices,
  privacyChoices,
  readConsent,
} from '#pipelines/events/consent.ts';
import { type ConversionName, conversionName, excludesDestination } from '#pipelines/events/vocabulary.ts';
import { definitionsOf } from '#pipelines/settings/event_definitions.ts';
import type { Consent, Event, EventEntry } from '#schemas/event.ts';
import type { DestinationRule, Site } from '#schemas/setting.ts';
import type { Adapter, EntryOutcome, Limits, MapResult, SerializedEvent } from './contract.ts';
import {
  type DeliveryJob,
  type DeliveryPorts,
  dead,
  handedOver,
  type IndexedSerializedEvent,
  paused,
  pausedByBreaker,
  type Run,
  settleAll,
  skipped,
} from './delivery_run.ts';
import { deadlineOfAge, dedupId } from './event_fields.ts';
import { callBudget, exchange, sendPermitted, settleUnresolved } from './exchange.ts';
import { matchingIdentifiers } from './matching.ts';
import { applyRule, RULE_SKIP, type RuledEvent, ruleFor } from './rules.ts';
import { mappedEventName, readSettings } from './setting_fields.ts';

/** How long events wait for a site's settings to become valid before they are looked at again. */
const SETTINGS_WAIT_MS = 60_000;

/**
 * Takes the events of one site to one destination, once: decides which are eligible, maps them, sends them in batches and
 * reads the answers. A batch that is refused because of an event in it is halved until that event stands alone, so that
 * it fails by itself; with one such event among n this takes about 2 log2(n) calls. Where the platform's words may be
 * about the destination as well, that is found out first, by a few events that are sent by themselves.
 *
 * @returns an outcome for each entry, in the order of the entries. `paused` is no attempt: nothing was judged, because
 * the breaker is open, the settings are not valid, the platform no longer takes the credentials, or the process was to
 * stop before the event's turn came.
 */
export async function deliver(job: DeliveryJob, ports: DeliveryPorts): Promise<EntryOutcome[]> {
  const read = readSettings(job.adapter, job.settings, job.secrets);
  if (read.kind === 'invalid')
    return job.entries.map(() => paused('settings_invalid', read.fields.join(', '), SETTINGS_WAIT_MS));
  const limits = job.adapter.limits(read.settings);
  const { timeoutMs, concurrencyMax } = limits;
  const run: Run = {
    ...{ job, ports, settings: read.settings, timeoutMs, concurrencyMax },
    ...{
      outcomes: [],
      token: null,
      queue: [],
      anyDelivered: false,
      asking: null,
      isDestinationBlamed: false,
      held: [],
    },
  };
  const pieces = job.entries.flatMap((entry, index) => preparePiece(run, entry, index));
  const bytesMax = limits.batchBytesMax - job.adapter.overheadBytes(read.settings);
  await sendAll(run, cutBatches(pieces, batchEventsMax(limits, job.attempt), bytesMax), concurrencyMax);
  settleUnresolved(run);
  return run.outcomes;
}

/** An event that cannot be read or mapped is dead by itself; the error's message may hold its data and is left out. */
function preparePiece(run: Run, entry: EventEntry, index: number): IndexedSerializedEvent[] {
  const { adapter, destination, rules, site, nowMs } = run.job;
  try {
    const mapped = prepare({ adapter, id: destination, settings: run.settings, rules }, site, entry, nowMs);
    if (mapped.kind === 'skip') {
      run.outcomes[index] = skipped(mapped.reason);
      return [];
    }
    const json = JSON.stringify(mapped.form);
    const { group, dedupId } = mapped;
    return [{ entry, index, json, bytes: Buffer.byteLength(json), group, dedupId }];
  } catch (error) {
    run.outcomes[index] = dead('map_failed', error instanceof Error ? error.name : typeof error);
    return [];
  }
}

/** When the breaker lets one call through to test the platform, that call goes first and alone. */
async function sendAll(run: Run, batches: IndexedSerializedEvent[][], concurrencyMax: number): Promise<void> {
  const { queue } = run;
  queue.push(...batches);
  const first = queue.shift();
  if (first === undefined) return;
  if (run.ports.stopping()) return settleAll(run, batches.flat(), handedOver());
  const permit = run.ports.breaker.ask();
  if (permit.kind === 'wait') return settleAll(run, batches.flat(), pausedByBreaker(permit));
  if (permit.kind === 'probe') await exchange(run, first, callBudget());
  else queue.unshift(first);
  const worker = async (): Promise<void> => {
    for (let batch = queue.shift(); batch !== undefined; batch = queue.shift()) {
      await sendPermitted(run, batch, callBudget());
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrencyMax, queue.length) }, worker));
}

/** When the platform stops taking the event, milliseconds since 1970 UTC; null where age does not matter. */
export function deliveryDeadlineMs<Settings>(adapter: Adapter<Settings>, event: Event): number | null {
  const ageMaxMs = adapter.ageMaxMs(event);
  return ageMaxMs === null ? null : deadlineOfAge(event, ageMaxMs);
}

function skipReason<Settings>(adapter: Adapter<Settings>, event: Event, nowMs: number): string | null {
  if (event.mode === 'offline' && adapter.anonymousEvents === 'skip') return 'anonymous_site';
  const deadlineMs = deliveryDeadlineMs(adapter, event);
  return deadlineMs !== null && nowMs >= deadlineMs ? 'too_old' : null;
}

/** The rule of a destination's that is for events of a name; null where none is. */
export function ruleOfName(site: Site, rules: readonly DestinationRule[], event: string): DestinationRule | null {
  const { conversionEvent } = eventRule(site, event);
  return ruleFor(rules, [event, conversionEvent, conversionName(conversionEvent ?? event).canonical]);
}

/** A destination of a site, as its settings are. */
interface Target<Settings> {
  adapter: Adapter<Settings>;
  id: string;
  settings: Settings;
  rules: readonly DestinationRule[];
}

/** An event that goes to a destination, as its rules have it, with what it is called there; or why it does not. */
export type Decision =
  | { kind: 'skip'; reason: string; rule: DestinationRule | null }
  | (RuledEvent & {
      kind: 'send';
      rule: DestinationRule | null;
      name: ConversionName;
      mappedEventName: string | null;
      choices: PrivacyChoices;
      given: Pick<RuledEvent, 'entry' | 'properties'>;
    });

/**
 * Decides whether an event goes to a destination, under which name and without which properties. Reasons to skip:
 * `historical`, `not_in_destinations`, `anonymous_site`, `too_old`, `rule`, `consent_denied`, `consent_denied_by_default` and `gpc`.
 *
 * @throws SyntaxError when `event.properties` is not JSON.
 */
export function decide<Settings>(
  { adapter, id, settings, rules }: Target<Settings>,
  site: Site,
  entry: EventEntry,
  nowMs: number,
): Decision {
  const { event } = entry;
  const { conversionEvent, switchedOff } = eventRule(site, event.event);
  const skip = (reason: string): Decision => ({ kind: 'skip', reason, rule: null });
  // Before all else, so that nothing a site or an event says sends it: it happened long ago, and was told to platforms then.
  if (event.historical === true) return skip('historical');
  if (switchedOff.has(id)) return skip('not_in_destinations');
  const reason = skipReason(adapter, event, nowMs);
  if (reason !== null) return skip(reason);
  const properties = JSON.parse(event.properties) as Record<string, unknown>;
  if (excludesDestination(properties, id, adapter.name)) return skip('not_in_destinations');
  const given = conversionName(conversionEvent ?? event.event);
  const rule = ruleOfName(site, rules, event.event);
  if (rule?.send === false) return { kind: 'skip', reason: RULE_SKIP, rule };
  const declared = declaredConsent(site, event.country);
  // Of an event from before its state was kept, its properties say it.
  const consent = event.consent ?? consentState(readConsent(properties), declared);
  const choices = privacyChoices(consent, settings, declared);
  const refused = refusal(adapter, site, consent, choices);
  if (refused !== null) return skip(refused);
  const unruled = { entry, properties };
  const ruled = rule === null ? { ...unruled, dropped: [], withheld: {} } : applyRule(rule, unruled);
  const name = rule?.rename_to ? conversionName(rule.rename_to) : given;
  const names = rule?.rename_to ? [rule.rename_to] : [event.event, conversionEvent];
  const mappedTo = mappedEventName(settings, [...names, name.canonical]);
  return { kind: 'send', rule, ...ruled, name, mappedEventName: mappedTo, choices, given: unruled };
}

type Prepared = Extract<MapResult, { kind: 'skip' }> | (Extract<MapResult, { kind: 'mapped' }> & { dedupId: string });

/** What a destination makes of an event: its form, or why it is skipped, for a reason of `decide` or of its own. */
export function prepare<Settings>(target: Target<Settings>, site: Site, entry: EventEntry, nowMs: number): Prepared {
  const decision = decide(target, site, entry, nowMs);
  if (decision.kind === 'skip') return { kind: 'skip', reason: decision.reason };
  const { entry: ruled, name, mappedEventName, choices, properties, withheld, given } = decision;
  const { event } = ruled;
  const sentId = dedupId(given.entry.event, given.properties);
  const mapped = target.adapter.map(ruled, {
    destination: target.id,
    settings: target.settings,
    site,
    name,
    mappedEventName,
    // By what was given: without its own address an event could pass for another person's.
    identifiers: { ...matchingIdentifiers(given.entry), ...withheld },
    further: event.mode === 'offline' ? [] : (event.further_identifiers ?? []),
    choices,
    properties,
    dedupId: sentId,
    library: given.properties['$lib'],
    nowMs,
  });
  return mapped.kind === 'skip' ? mapped : { ...mapped, dedupId: sentId };
}

/**
 * The one rule for all advertising platforms: an event of somebody who does not want their data there is not sent, and one
 * that may be used in a limited way only is sent where the platform can be told so. Global Privacy Control asks not to be sold or
 * shared: where the site respects it, they get nothing of it. Measuring goes on.
 */
function refusal(
  { advertising }: Pick<Adapter, 'advertising'>,
  { tag }: Site,
  consent: Consent,
  choices: PrivacyChoices,
): string | null {
  if (advertising === 'none') return null;
  if (consent.gpc && tag.respect_gpc) return 'gpc';
  const said = [consent.ad_user_data];
  if (advertising === 'unrestrictable' && isRestricted(choices)) {
    if (choices.limitedDataUse === true) return 'consent_denied';
    said.push(consent.ad_personalization);
  } else if (choices.adUserData !== false) return null;
  return said.includes('denied') ? 'consent_denied' : 'consent_denied_by_default';
}

/** What the site's event definitions say of one event name. */
interface EventRule {
  /** The conversion the event stands for; null where no definition names one. */
  conversionEvent: string | null;
  /** Ids of destinations that every definition of the name switches off. */
  switchedOff: ReadonlySet<string>;
}

const NO_RULE: EventRule = { conversionEvent: null, switchedOff: new Set() };

function readRules(site: Site): ReadonlyMap<string, EventRule> {
  const rules = new Map<string, EventRule>();
  for (const { name, enabled, conversion_event, destinations } of definitionsOf(site)) {
    if (!enabled) continue;
    const before = rules.get(name);
    const off = Object.keys(destinations).filter((destination) => destinations[destination] === false);
    rules.set(name, {
      conversionEvent: before?.conversionEvent ?? (conversion_event || null),
      switchedOff: new Set(before === undefined ? off : off.filter((one) => before.switchedOff.has(one))),
    });
  }
  return rules;
}

const rulesOfSite = new WeakMap<Site, ReadonlyMap<string, EventRule>>();

/**
 * The rule for an event name: a destination flag that is absent means send, and where several active definitions share a
 * name, one that sends is enough. Rules are read once per Site value.
 */
function eventRule(site: Site, eventName: string): EventRule {
  const rules = rulesOfSite.get(site) ?? readRules(site);
  rulesOfSite.set(site, rules);
  return rules.get(eventName) ?? NO_RULE;
}

/** Attempts that use the platform's full batch size; after them each attempt uses a tenth of the one before. */
const FULL_ATTEMPTS = 2;

/**
 * Events per request at an attempt (from 1). Batches shrink as attempts grow, so that an event to which the platform
 * answers with a server error, which asks for a retry and not for a split, soon travels alone.
 */
function batchEventsMax(limits: Limits, attempt: number): number {
  return Math.max(1, Math.floor(limits.batchEventsMax / 10 ** Math.max(0, attempt - FULL_ATTEMPTS)));
}

/**
 * Cuts pieces into batches of one group each, in order, none above the number of events or of bytes; a piece that is
 * too large by itself makes a batch of one.
 */
function cutBatches<P extends SerializedEvent>(pieces: readonly P[], eventsMax: number, bytesMax: number): P[][] {
  const batches: P[][] = [];
  const open = new Map<string, { batch: P[]; bytes: number }>();
  for (const piece of pieces) {
    const current = open.get(piece.group);
    const size = piece.bytes + 1;
    if (current !== undefined && current.batch.length < eventsMax && current.bytes + size <= bytesMax) {
      current.batch.push(piece);
      current.bytes += size;
    } else {
      const batch = [piece];
      batches.push(batch);
      open.set(piece.group, { batch, bytes: size });
    }
  }
  return batches;
}

/** An event that somebody asks for to see what a destination makes of it. */
interface TestEvent {
  siteId: string;
  eventId: string;
  name: string;
  /** Milliseconds since 1970 UTC. */
  nowMs: number;
}

/** Of an address and an id that are nobody's, so that platforms that match people have something to match by. */
const NOBODY = {
  email: '973dfe463ec85785f5f95af5ba3906eedb2d931c24e69824a89ea65dba4e813b',
  external_id: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
} as const;
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36';
/** Of the range that is kept for documentation. */
const ADDRESS = '203.0.113.7';
/** By which whoever looks at the platform's side knows it. */
const MARK = { svc_test: true, $current_url: 'https://test.example/', $title: 'Test event' } as const;

/** The event, marked as a test, with one unit of money for those that want a value. */
export function testEntry({ siteId, eventId, name, nowMs }: TestEvent): EventEntry {
  const none = { email_google: null, email_stripped: null, phone: null, phone_digits: null, first_name: null };
  const identifiers = { ...none, ...NOBODY, first_name_google: null, last_name: null, last_name_google: null };
  return {
    coordinate: null,
    person: null,
    event: {
      ...{ site_id: siteId, event_id: eventId, distinct_id: eventId, event: name },
      ...{ received_at: nowMs, timestamp: nowMs, original_timestamp: null },
      ...{ mode: 'online', action_source: 'website', caller: 'server', identify: false, identifiers },
      ...{ city: null, state: null, zip: null, country: null, client_ip: ADDRESS, client_user_agent: BROWSER },
      ...{ value: 1, currency: 'EUR', order_id: eventId, previous_distinct_id: null },
      properties: JSON.stringify(MARK),
    },
  };
}

/** The setting by which a platform is told that an event is a test, where its kind of destination has one. */
export const TEST_SETTING = 'test_event_code';
