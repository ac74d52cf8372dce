// An event of a scanned body, taken by what the careful path would make of it.

import {
  consentState,
  declaredConsent,
  NOTHING_SAID,
  readConsent,
  type SaidConsent,
} from '#pipelines/events/consent.ts';
import type { Properties } from '#pipelines/events/vocabulary.ts';
import { emptyCollection } from '#pipelines/privacy/collect_identifiers.ts';
import { backTo, detached, markOf, spend, type WorkBudget } from '#pipelines/privacy/normalise_text.ts';
import { isNobodysId, isPlaceholderId } from '#pipelines/privacy/placeholder_ids.ts';
import { redactText } from '#pipelines/privacy/redact_text.ts';
import type { Event } from '#schemas/event.ts';
import type { ApiKey, Site } from '#schemas/setting.ts';
import {
  browserCountry,
  type EventWarning,
  type IntakeRequest,
  idCountries,
  type Visitor,
  visitorOf,
} from '../call.ts';
import { readUuid } from '../event_id.ts';
import {
  cleanEventName,
  propertiesText,
  readCurrency,
  readEventName,
  readOrderId,
  readShortText,
} from '../field_rules.ts';
import { type BlockedDevice, isAny, isForServers, isIdentifyName } from '../site_rules.ts';
import { readTimestamp } from '../timestamp.ts';
import type { ScannedEvent, TextSpan } from './scan_body.ts';

/** Whether a caller's events may be taken by the fast path: it removes nothing that only some sites want gone. */
export function mayScan(site: Site, { caller }: ApiKey, gpc: boolean): boolean {
  return site.mode === 'online' && !(gpc && caller === 'browser');
}

interface Taken {
  kind: 'taken';
  event: Event;
  warnings: readonly EventWarning[];
}

const NO_WARNINGS: readonly EventWarning[] = [];
const NOTHING_FOUND = emptyCollection();

/** Steps of events that then went the careful way; a request that made more goes it from there on. */
const LOST_STEPS_MAX = 1_000;

/**
 * The event as it is stored; null where it has to go the careful way. Then the budget is as it was, so that this comes out as it does
 * without a look; what the look took counts as what was walked through.
 */
export function takeScanned(scanned: ScannedEvent, call: IntakeRequest): Taken | null {
  const { budget } = call;
  if (call.lostSteps > LOST_STEPS_MAX) return null;
  const before = markOf(budget);
  const taken = take(scanned, call);
  if (taken !== null) {
    budget.walked.values += scanned.values;
    return taken;
  }
  const lost = budget.made.steps - before.steps;
  call.lostSteps += lost;
  budget.walked.values += lost;
  backTo(budget, before);
  return null;
}

function take(scanned: ScannedEvent, call: IntakeRequest): Taken | null {
  const { context, rules, budget, peer } = call;
  const { identitySecret, site } = context;
  if (scanned.event === null || scanned.uuid === null || scanned.properties === null) return null;
  const sentName = scanned.of(scanned.event);
  if (!isName(sentName)) return null;
  if (isForServers(rules, sentName, context.caller)) return null;
  const sentUuid = scanned.of(scanned.uuid);
  const countries = idCountries(site);
  const uuid = scanned.hasOwnUuid ? sentUuid : readId(sentUuid, countries, call);
  if (uuid === null) return null;
  const sentTime = scanned.timestamp === null ? undefined : scanned.of(scanned.timestamp);
  const time = readTimestamp(sentTime, context);
  if (!time.ok) return null;
  const currency = scanned.currency === null ? null : readCurrency(scanned.of(scanned.currency));
  const order_id =
    scanned.order_id === null ? null : readOrderId(scanned.of(scanned.order_id), identitySecret, countries, budget);
  const visitor = visitorIn(call, scanned.distinct_id === null ? null : scanned.of(scanned.distinct_id));
  if (visitor === null || !areClean(scanned, call.countries, budget)) return null;
  const properties = scanned.of(scanned.properties);
  if (mayBeBlocked(scanned, sentName, visitor, properties, call)) return null;
  const country = browserCountry(context);
  const event: Event = {
    site_id: site.site_id,
    event_id: uuid,
    distinct_id: visitor.distinctId,
    received_at: context.receivedAtMs,
    event: scanned.hasPlainName ? sentName : cleanEventName(sentName, identitySecret, call.countries, budget),
    timestamp: time.timestamp,
    original_timestamp: time.original,
    mode: site.mode,
    action_source: 'website',
    caller: context.caller,
    identify: isIdentifyName(rules.identifyNames, sentName),
    identifiers: null,
    city: null,
    state: null,
    zip: null,
    country,
    client_ip: peer.ip,
    client_user_agent: peer.userAgent,
    value: scanned.value === null ? null : Number(scanned.of(scanned.value)),
    currency,
    order_id,
    properties: scanned.isSpaced ? propertiesText(JSON.parse(properties) as object) : properties,
    previous_distinct_id: null,
    key_id: context.keyId,
    consent: consentState(saidIn(scanned), declaredConsent(site, country)),
  };
  return { kind: 'taken', event, warnings: time.warning === null ? NO_WARNINGS : [time.warning] };
}

/** As the careful path has it, and no other. */
function isName(sent: string): boolean {
  const named = readEventName(sent);
  return named.ok && named.name === sent;
}

/** Null where it is none, or a placeholder. */
function readId(sent: string, countries: readonly string[], { context, budget }: IntakeRequest): string | null {
  if (isPlaceholderId(sent)) return null;
  return readUuid(sent, context.identitySecret, countries, budget, context.isEngageEvent);
}

function visitorIn(call: IntakeRequest, sent: string | null): Visitor | null {
  const { made } = call.budget;
  const last = call.lastVisitor;
  if (last !== null && last.sent === sent) {
    made.steps += last.steps;
    return last.visitor;
  }
  const before = made.steps;
  const visitor = readVisitor(call, sent);
  call.lastVisitor = { sent, visitor, steps: made.steps - before };
  return visitor;
}

/** Null where the id is none, or that of somebody by an address or a number. */
function readVisitor(call: IntakeRequest, sent: string | null): Visitor | null {
  const distinctId = sent === null ? null : readShortText(sent);
  if (sent !== null && (distinctId === null || isNobodysId(distinctId))) return null;
  const visitor = visitorOf({ distinctId }, NOTHING_FOUND, call.peer, call);
  return visitor.identifiers === null ? visitor : null;
}

function areClean(scanned: ScannedEvent, countries: readonly string[], budget: WorkBudget): boolean {
  for (const span of scanned.unclear ?? []) {
    const text = scanned.of(span);
    const mayKeep = span.hasFewDigits && span.stands === 'text' && isReadAlike(text, span);
    const steps = mayKeep ? cleanTexts.get(text) : undefined;
    if (steps !== undefined && spend(budget, steps)) continue;
    const before = budget.made.steps;
    if (redactText(text, false, countries, budget, span.stands) !== text) return false;
    if (mayKeep) keepClean(text, budget.made.steps - before);
  }
  return true;
}

/** Whether what are no digits in the text cannot become some: only ASCII has as many bytes as characters, and there escapes alone do. */
function isReadAlike(text: string, { start, end }: TextSpan): boolean {
  return (
    text.length === end - start &&
    text.length <= KEPT_CHARACTERS_MAX &&
    !text.includes('%') &&
    !(text.includes('#') && REFERENCE.test(text))
  );
}

/** The beginning of a character reference by number, which may have been escaped several times. */
const REFERENCE = /&(?:amp;)*#/i;

/**
 * Texts that hold nothing personal, mostly pages' addresses, and the steps that it took to see it. None that could be read
 * otherwise for another country, for which it would need more digits.
 */
const cleanTexts = new Map<string, number>();
const KEPT_MAX = 2048;
const KEPT_CHARACTERS_MAX = 256;

function keepClean(text: string, steps: number): void {
  if (cleanTexts.size >= KEPT_MAX) cleanTexts.clear();
  cleanTexts.set(detached(text), steps);
}

/** What events say of consent, by how they write it: few things, and mostly what the event before said. */
const saidTexts = new Map<string, SaidConsent>();
let lastText: Buffer = Buffer.alloc(0);
let lastSaid = NOTHING_SAID;

function saidIn(scanned: ScannedEvent): SaidConsent {
  if (scanned.consent === null) return NOTHING_SAID;
  if (scanned.has(scanned.consent, lastText)) return lastSaid;
  const text = scanned.of(scanned.consent);
  const bytes = Buffer.from(text);
  // Both or neither: the last text never stands beside what another one says.
  lastSaid = saidTexts.get(text) ?? keepSaid(bytes.toString());
  lastText = bytes;
  return lastSaid;
}

function keepSaid(text: string): SaidConsent {
  const said = readConsent(JSON.parse(`{${text}}`) as Properties);
  if (text.length > KEPT_CHARACTERS_MAX) return said;
  if (saidTexts.size >= KEPT_MAX) saidTexts.clear();
  saidTexts.set(text, said);
  return said;
}

/** What has a property that a rule reads is for the careful path to judge: names without an escape stand there as they are. */
function mayBeBlocked(
  scanned: ScannedEvent,
  event: string,
  visitor: Visitor,
  text: string,
  call: IntakeRequest,
): boolean {
  const { blocks } = call.rules;
  if (blocks === null) return false;
  for (const { bit, quoted } of blocks.propertiesRead)
    if ((scanned.names & bit) !== 0 && text.includes(quoted)) return true;
  call.isPeerBlocked ??= isAny(blocks.devices, peerDevice(call));
  return call.isPeerBlocked || isAny(blocks.names, event) || isIdIn(blocks.distinctIds, scanned, visitor);
}

const peerDevice = ({ context, peer }: IntakeRequest): BlockedDevice => ({
  clientIp: peer.ip,
  userAgent: peer.userAgent,
  country: browserCountry(context),
});

function isIdIn(ids: ReadonlySet<string>, scanned: ScannedEvent, { distinctId }: Visitor): boolean {
  if (ids.size === 0) return false;
  const sent = scanned.distinct_id === null ? null : readShortText(scanned.of(scanned.distinct_id));
  return ids.has(distinctId) || (sent !== null && ids.has(sent));
}
