// Consent and other choices of privacy that an event states.
import type { ConsentDefault } from '#schemas/setting.ts';
import { isRecord, type PrivacyFlag, type Properties, readFlag, unwrapped, wordOf } from './vocabulary.ts';

/** What an event says of its person's privacy, whichever platform's word says it. */
export interface PrivacyChoices extends Consent {
  /** Whether data may be used in a limited way only; null where the event says nothing. */
  limitedDataUse: boolean | null;
}

const OPT_OUT_NAMES = ['opt_out', 'optOut', '$opt_out', 'npa', 'non_personalized_ads'];
const LIMITED_NAMES = ['limited_data_use', 'limitedDataUse'];
/** Signals that limit; a browser or banner that sends none has not allowed what the site itself limits. */
const SIGNAL_NAMES = ['restricted_data_processing', 'gpc', '$gpc', 'sec_gpc'];
const OPTIONS_NAMES = ['data_processing_options', 'dataProcessingOptions'];
const SALE_NAMES = ['us_privacy', 'usPrivacy'];

/** Meta's and Reddit's, Snapchat's and Pinterest's word for limited data use. */
const LIMITING_OPTIONS = new Set(['ldu', 'lmu', 'ldp']);

/** `data_processing_options`: a list, one word or words with commas; an empty list declares that nothing is limited. */
function fromOptions(value: unknown): PrivacyFlag {
  const given = unwrapped(value);
  const whole = Array.isArray(given) ? (given.length === 0 ? 'no' : 'unreadable') : readFlag(given);
  if (whole !== 'unreadable') return whole;
  const options = Array.isArray(given) ? given : typeof given === 'string' ? given.split(/[,;\s]+/) : [given];
  const said = options.map((option: unknown) => optionSays(option));
  if (said.includes('yes')) return 'yes';
  return said.every((one) => one === 'absent' || one === 'no') ? 'no' : 'unreadable';
}

function optionSays(option: unknown): PrivacyFlag {
  const word = wordOf(option);
  if (LIMITING_OPTIONS.has(word)) return 'yes';
  return word === 'none' ? 'no' : readFlag(option);
}

/** What only limits: that it is not set is no permission. */
function fromLimitingSignal(value: unknown): PrivacyFlag {
  const says = readFlag(value);
  return says === 'no' ? 'absent' : says;
}

/** The IAB's US privacy string: version, notice, opted out of sale, agreement. */
function fromSale(value: unknown): PrivacyFlag {
  if (readFlag(value) === 'absent') return 'absent';
  const optedOut = /^\d[yn-]([yn-])[yn-]$/.exec(wordOf(value))?.[1];
  if (optedOut === undefined) return 'unreadable';
  return optedOut === 'y' ? 'yes' : 'absent';
}

/** Whether something restrictive was said: what cannot be read counts as if it was, and one yes outweighs any no. */
function restricts(said: readonly PrivacyFlag[]): boolean | null {
  if (said.includes('yes') || said.includes('unreadable')) return true;
  return said.includes('no') ? false : null;
}

function under(properties: Properties, names: readonly string[], read: (value: unknown) => PrivacyFlag): PrivacyFlag[] {
  const context = unwrapped(properties['context']);
  const places = isRecord(context) ? [properties, context] : [properties];
  return places.flatMap((place) => names.map((name) => read(place[name])));
}

const fromWord = (word: unknown): boolean | null => (word === 'granted' ? true : word === 'denied' ? false : null);

/** The European Economic Area: the European Union with Iceland, Liechtenstein and Norway. */
export const EEA = 'EEA';
const EEA_COUNTRIES = new Set(
  'AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IS IT LI LT LU LV MT NL NO PL PT RO SE SI SK'.split(' '),
);

/** What a site declares for a country: what it says of it by name, of the EEA, or of all others. Null where it declares nothing. */
export function defaultConsent(defaults: readonly ConsentDefault[], country: string | null): boolean | null {
  const code = country?.toUpperCase() ?? null;
  const of = (name: string | null) => defaults.find((one) => one.country === name);
  const named = code === null ? undefined : (of(code) ?? (EEA_COUNTRIES.has(code) ? of(EEA) : undefined));
  return fromWord((named ?? of(null))?.consent);
}

/**
 * Reads every privacy flag of an event, in whatever shape it was sent. An unreadable flag counts as the protective value,
 * and so does a refusal that another flag contradicts. An opt-out is a refusal of personalised advertising. Where the event says
 * nothing, what the site declares counts, for the country and by the destination's setting `consent`: a refusal in either.
 */
export function privacyChoices(properties: Properties, settings: unknown, ofSite: boolean | null): PrivacyChoices {
  const consent = consentOf(properties);
  const ofDestination = fromWord(isRecord(settings) ? settings['consent'] : undefined);
  const fallback = ofSite === false || ofDestination === false ? false : (ofSite ?? ofDestination);
  const optedOut = restricts(under(properties, OPT_OUT_NAMES, readFlag)) === true;
  return {
    adUserData: consent.adUserData ?? fallback,
    adPersonalization: optedOut ? false : (consent.adPersonalization ?? fallback),
    analytics: consent.analytics ?? ofSite,
    limitedDataUse: restricts([
      ...under(properties, LIMITED_NAMES, readFlag),
      ...under(properties, SIGNAL_NAMES, fromLimitingSignal),
      ...under(properties, OPTIONS_NAMES, fromOptions),
      ...under(properties, SALE_NAMES, fromSale),
    ]),
  };
}

/** Whether an event may be used for measuring only, if at all. */
export const isRestricted = ({ adPersonalization, limitedDataUse }: PrivacyChoices): boolean =>
  adPersonalization === false || limitedDataUse === true;

/** What the visitor agreed to: true, false, or null where the event says nothing. */
interface Consent {
  /** That data of theirs goes to advertising platforms. */
  adUserData: boolean | null;
  /** That advertising is made to fit them. */
  adPersonalization: boolean | null;
  /** That they are measured. */
  analytics: boolean | null;
}

type Purpose = keyof Consent;
interface Statement {
  purposes: readonly Purpose[];
  says: PrivacyFlag;
}

const ADVERTISING: readonly Purpose[] = ['adUserData', 'adPersonalization'];
const ALL: readonly Purpose[] = [...ADVERTISING, 'analytics'];
const NONE: readonly Purpose[] = [];

const GRANTED = new Set(['granted', 'grant', 'accepted', 'allowed', 'opt_in', 'opted_in']);
const DENIED = new Set([
  'denied',
  'deny',
  'rejected',
  'refused',
  'declined',
  'disallowed',
  'none',
  'opt_out',
  'opted_out',
]);

/** The words for agreeing and refusing beside plain flags. */
function agreed(value: unknown): PrivacyFlag {
  const word = wordOf(value).replace(/^consent_/, '');
  if (GRANTED.has(word)) return 'yes';
  return DENIED.has(word) ? 'no' : readFlag(value);
}

const named = (purposes: readonly Purpose[], names: readonly string[]): [string, readonly Purpose[]][] =>
  names.map((name) => [name, purposes]);

/** Google's consent types, the categories of common consent banners, and words for all of them together. */
const PURPOSES: ReadonlyMap<string, readonly Purpose[]> = new Map([
  ...named(['adUserData'], ['aduserdata']),
  ...named(['adPersonalization'], ['adpersonalization']),
  ...named(ADVERTISING, ['adstorage', 'ads', 'ad', 'advertising', 'advertisement', 'marketing', 'targeting']),
  // OneTrust's groups of cookies: targeting, social media and performance.
  ...named(ADVERTISING, ['c0004', 'c0005']),
  ...named(['analytics'], ['analyticsstorage', 'analytics', 'statistics', 'performance', 'c0002']),
  ...named(ALL, ['all', 'status', 'state', 'value', 'granted', 'accepted', 'given']),
  ...named(NONE, ['functionalitystorage', 'personalizationstorage', 'securitystorage']),
]);

/** What stands beside purposes and is about none of these three: other categories of banners, and when and where was asked. */
const BESIDE = new Set([
  ...['functional', 'necessary', 'strictlynecessary', 'essential', 'preferences', 'c0001', 'c0003'],
  ...['version', 'timestamp', 'date', 'updatedat', 'id', 'consentid', 'region', 'country', 'language', 'waitforupdate'],
]);

/** Names that ask whether something was refused, so that a yes is the refusal. */
const ASKS_FOR_REFUSAL = /^(?:opt(?:ed)?out|donot|den(?:y|ied)|reject|refus|declin|disallow|revok|withdr|npa$|gpc$)/;

const folded = (name: string): string => name.toLowerCase().replace(/[\s_-]+/g, '');

/** A name that nobody knows may be about advertising: that it is agreed to says nothing, that it is not refuses everything. */
function mayRefuse(name: string, value: unknown): boolean {
  if (BESIDE.has(name)) return false;
  const says = ASKS_FOR_REFUSAL.test(name) ? readFlag(value) : agreed(value);
  return says === 'unreadable' || says === (ASKS_FOR_REFUSAL.test(name) ? 'yes' : 'no');
}

function fromMember(name: string, value: unknown): Statement[] {
  const purposes = PURPOSES.get(name);
  if (purposes !== undefined) return [{ purposes, says: agreed(value) }];
  return mayRefuse(name, value) ? [{ purposes: ALL, says: 'unreadable' }] : [];
}

/** The members of a consent object under their folded names; Segment's categories count as members of their own. */
function membersOf(given: Properties): [string, unknown][] {
  const { categoryPreferences, ...others } = given;
  const categories = unwrapped(categoryPreferences);
  const members = isRecord(categories)
    ? [...Object.entries(categories), ...Object.entries(others)]
    : Object.entries(given);
  return members.map(([name, value]) => [folded(name), value]);
}

/** An object of purposes; one in which no purpose is known by name is unreadable as a whole. */
function fromObject(given: Properties): Statement[] {
  const members = membersOf(given);
  if (members.length === 0) return [];
  if (!members.some(([name]) => PURPOSES.has(name))) return [{ purposes: ALL, says: 'unreadable' }];
  return members.flatMap(([name, value]) => fromMember(name, value));
}

function fromConsent(value: unknown): Statement[] {
  const given = unwrapped(value);
  return isRecord(given) ? fromObject(given) : [{ purposes: ALL, says: agreed(given) }];
}

const UNREADABLE: readonly Statement[] = [{ purposes: ALL, says: 'unreadable' }];

/** The ids of a list, or of an object of names by their ids, folded; null where it is neither. */
function idsOf(value: unknown): string[] | null {
  const given = unwrapped(value ?? []);
  const ids: unknown[] | null = Array.isArray(given) ? given : isRecord(given) ? Object.keys(given) : null;
  return ids?.every((id) => typeof id === 'string' || typeof id === 'number') === true
    ? ids.map((id) => folded(String(id)))
    : null;
}

/**
 * RudderStack's `consentManagement`: which of a banner's categories were agreed to, and which were not (its page "Add the consent
 * object to event payloads"). A refused one that nobody knows may be about advertising.
 */
function fromLists(value: unknown): readonly Statement[] {
  const lists = unwrapped(value);
  if (readFlag(lists) === 'absent' || (isRecord(lists) && Object.keys(lists).length === 0)) return [];
  if (!isRecord(lists) || !LIST_NAMES.some((name) => name in lists)) return UNREADABLE;
  const [denied, allowed] = LIST_NAMES.map((name) => idsOf(lists[name]));
  if (!denied || !allowed) return UNREADABLE;
  const refused = denied.filter((id) => !BESIDE.has(id));
  return [
    ...refused.map((id): Statement => ({ purposes: PURPOSES.get(id) ?? ALL, says: 'no' })),
    ...allowed.flatMap((id) => fromMember(id, true)),
  ];
}
const LIST_NAMES = ['deniedConsentIds', 'allowedConsentIds'];

const DIGITS: Readonly<Record<string, PrivacyFlag>> = { '0': 'no', '1': 'yes', '-': 'absent' };

/** Google's consent signal `gcs`: `G1` and a digit each for advertising and analytics. */
function fromGoogleSignal(value: unknown): Statement[] {
  if (readFlag(value) === 'absent') return [];
  const [, advertising, analytics] = /^g?1([01-])([01-])$/.exec(wordOf(value)) ?? [];
  if (advertising === undefined || analytics === undefined) return [{ purposes: ALL, says: 'unreadable' }];
  return [
    { purposes: ADVERTISING, says: DIGITS[advertising] ?? 'unreadable' },
    { purposes: ['analytics'], says: DIGITS[analytics] ?? 'unreadable' },
  ];
}

const CONSENT_NAMES = ['consent', '$consent'];
const FLAT_NAMES = ['ad_user_data', 'ad_personalization', 'ad_storage', 'analytics_storage'];

function statementsOf(properties: Properties): Statement[] {
  const flat = FLAT_NAMES.filter((name) => name in properties);
  return [
    ...CONSENT_NAMES.flatMap((name) => fromConsent(properties[name])),
    ...flat.flatMap((name) => fromObject({ [name]: properties[name] })),
    ...fromGoogleSignal(properties['gcs']),
    ...fromLists(properties['consentManagement']),
  ];
}

/** A refusal anywhere holds, and what cannot be read counts as one. */
function judged(statements: readonly Statement[], purpose: Purpose): boolean | null {
  const said = statements.filter(({ purposes }) => purposes.includes(purpose)).map(({ says }) => says);
  if (said.includes('no') || said.includes('unreadable')) return false;
  return said.includes('yes') ? true : null;
}

/**
 * Reads consent from the property `consent` (or `$consent`), which is one word or flag for everything or an object of
 * purposes, also within `context`; from Google's consent types as properties of their own; from gtag's `gcs`; and from
 * RudderStack's `consentManagement`.
 */
export function consentOf(properties: Properties): Consent {
  const context = unwrapped(properties['context']);
  const statements = [...statementsOf(properties), ...(isRecord(context) ? statementsOf(context) : [])];
  return {
    adUserData: judged(statements, 'adUserData'),
    adPersonalization: judged(statements, 'adPersonalization'),
    analytics: judged(statements, 'analytics'),
  };
}
