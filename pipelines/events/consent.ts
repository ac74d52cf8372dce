// Consent and other choices of privacy: what an event says in its properties, its state as the edge stores it, and what destinations
// may do by that.
import type { Consent, ConsentState } from '#schemas/event.ts';
import type { ConsentDefault, Site } from '#schemas/setting.ts';
import { isRecord, type PrivacyFlag, type Properties, readFlag, unwrapped, wordOf } from './vocabulary.ts';

/** What an event says itself, whichever platform's word says it; null: nothing. */
export type SaidConsent = Readonly<Record<Purpose, boolean | null>> & {
  /** Whether data may be used in a limited way only. */
  readonly limited_data_use: boolean | null;
  /** Whether the browser asked by Global Privacy Control not to sell or share. */
  readonly gpc: boolean;
};

/** What a destination may do with an event; null: nothing is known. */
export interface PrivacyChoices {
  /** Whether data of the person goes to advertising platforms. */
  adUserData: boolean | null;
  /** Whether advertising is made to fit them. */
  adPersonalization: boolean | null;
  /** Whether they are measured. */
  analytics: boolean | null;
  /** Whether data may be used in a limited way only. */
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

/** The European Economic Area: the European Union with Iceland, Liechtenstein and Norway. */
export const EEA = 'EEA';
const EEA_COUNTRIES = new Set(
  'AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IS IT LI LT LU LV MT NL NO PL PT RO SE SI SK'.split(' '),
);

const declarations = new WeakMap<Site, (country: string | null) => boolean | null>();

/**
 * What a site declares where an event says nothing, by the event's country or else the site's: what it says of the country by
 * name, of the EEA, or of all others. Null where it declares nothing.
 */
export function declaredConsent(site: Site, country: string | null): boolean | null {
  const defaults = site.consent_defaults;
  if (defaults === undefined || defaults.length === 0) return null;
  let declared = declarations.get(site);
  if (declared === undefined) {
    declared = declarationOf(defaults);
    declarations.set(site, declared);
  }
  return declared(country ?? site.default_country);
}

function declarationOf(defaults: readonly ConsentDefault[]): (country: string | null) => boolean | null {
  const byName = new Map(defaults.toReversed().map(({ country, consent }) => [country, consent === 'granted']));
  const ofOthers = byName.get(null) ?? null;
  return (country) => {
    if (country === null) return ofOthers;
    const code = country.toUpperCase();
    return byName.get(code) ?? (EEA_COUNTRIES.has(code) ? byName.get(EEA) : undefined) ?? ofOthers;
  };
}

/** All states there are, each made once: events are encoded by the thousand, and mostly have one of a few. */
const STATES = new Map<number, Consent>();
let last: { said: SaidConsent; declared: boolean | null; state: Consent } | null = null;

/** An event's state of consent: what it says, and what its site declares where it says nothing. */
export function consentState(said: SaidConsent, declared: boolean | null): Consent {
  if (last?.said !== said || last.declared !== declared) last = { said, declared, state: stateFor(said, declared) };
  return last.state;
}

function stateFor(said: SaidConsent, declared: boolean | null): Consent {
  let number = said.gpc ? 1 : 0;
  number = number * 3 + digitOf(declared);
  number = number * 3 + digitOf(said.limited_data_use);
  number = number * 3 + digitOf(said.ad_storage);
  number = number * 3 + digitOf(said.analytics_storage);
  number = number * 3 + digitOf(said.ad_user_data);
  number = number * 3 + digitOf(said.ad_personalization);
  let state = STATES.get(number);
  if (state === undefined) {
    state = newState(said, declared);
    STATES.set(number, state);
  }
  return state;
}

const digitOf = (said: boolean | null): 0 | 1 | 2 => (said === null ? 0 : said ? 1 : 2);

function newState(said: SaidConsent, declared: boolean | null): Consent {
  const silent: ConsentState = declared === null ? 'unset' : declared ? 'granted_by_default' : 'denied_by_default';
  return {
    ad_storage: stateOf(said.ad_storage, silent),
    analytics_storage: stateOf(said.analytics_storage, silent),
    ad_user_data: stateOf(said.ad_user_data, silent),
    ad_personalization: stateOf(said.ad_personalization, silent),
    limited_data_use: said.limited_data_use,
    gpc: said.gpc,
  };
}

const stateOf = (said: boolean | null, silent: ConsentState): ConsentState =>
  said === null ? silent : said ? 'granted' : 'denied';

/**
 * What destinations may do by an event's state of consent. Where the event itself said nothing, one refusal is enough: by what
 * its site declared when it arrived, by what the site declares now, or by the destination's setting `consent`.
 *
 * @param declared By the site now.
 */
export function privacyChoices(consent: Consent, settings: unknown, declared: boolean | null): PrivacyChoices {
  const ofDestination = isRecord(settings) ? settings['consent'] : undefined;
  const chosen = ofDestination === 'granted' ? true : ofDestination === 'denied' ? false : null;
  return {
    adUserData: choiceOf(consent.ad_user_data, [declared, chosen]),
    adPersonalization: choiceOf(consent.ad_personalization, [declared, chosen]),
    analytics: choiceOf(consent.analytics_storage, [declared]),
    limitedDataUse: consent.limited_data_use,
  };
}

function choiceOf(state: ConsentState, further: readonly (boolean | null)[]): boolean | null {
  if (state === 'granted' || state === 'denied') return state === 'granted';
  if (state === 'denied_by_default' || further.includes(false)) return false;
  return state === 'granted_by_default' || further.includes(true) ? true : null;
}

/** Whether an event may be used for measuring only, if at all. */
export const isRestricted = ({ adPersonalization, limitedDataUse }: PrivacyChoices): boolean =>
  adPersonalization === false || limitedDataUse === true;

/** Google's consent types that are kept: storage and use of data for advertising, advertising that fits the person, and measuring. */
type Purpose = 'ad_storage' | 'ad_user_data' | 'ad_personalization' | 'analytics_storage';
interface Statement {
  purposes: readonly Purpose[];
  says: PrivacyFlag;
}

/** Storage speaks for all of advertising, as it did alone before Google had words for the others. */
const ADVERTISING: readonly Purpose[] = ['ad_storage', 'ad_user_data', 'ad_personalization'];
const ALL: readonly Purpose[] = [...ADVERTISING, 'analytics_storage'];
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
  ...named(['ad_user_data'], ['aduserdata']),
  ...named(['ad_personalization'], ['adpersonalization']),
  ...named(ADVERTISING, ['adstorage', 'ads', 'ad', 'advertising', 'advertisement', 'marketing', 'targeting']),
  // OneTrust's groups of cookies: targeting, social media and performance.
  ...named(ADVERTISING, ['c0004', 'c0005']),
  ...named(['analytics_storage'], ['analyticsstorage', 'analytics', 'statistics', 'performance', 'c0002']),
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
    { purposes: ['analytics_storage'], says: DIGITS[analytics] ?? 'unreadable' },
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
export function consentOf(properties: Properties): Record<Purpose, boolean | null> {
  const context = unwrapped(properties['context']);
  const statements = [...statementsOf(properties), ...(isRecord(context) ? statementsOf(context) : [])];
  return {
    ad_storage: judged(statements, 'ad_storage'),
    ad_user_data: judged(statements, 'ad_user_data'),
    ad_personalization: judged(statements, 'ad_personalization'),
    analytics_storage: judged(statements, 'analytics_storage'),
  };
}

/** Properties without any of these say nothing. */
export const CONSENT_PROPERTIES: ReadonlySet<string> = new Set([
  ...['context', 'gcs', 'consentManagement', ...CONSENT_NAMES, ...FLAT_NAMES],
  ...[...OPT_OUT_NAMES, ...LIMITED_NAMES, ...SIGNAL_NAMES, ...OPTIONS_NAMES, ...SALE_NAMES],
]);

export const NOTHING_SAID: SaidConsent = {
  ...{ ad_storage: null, ad_user_data: null, ad_personalization: null, analytics_storage: null },
  ...{ limited_data_use: null, gpc: false },
};

/** What was read, by its text: few things are said, over and over. */
const readBefore = new Map<string, SaidConsent>();
const READ_MAX = 2048;
const READ_CHARACTERS_MAX = 256;

/**
 * Reads every flag of privacy of an event, in whatever shape it was sent. An unreadable flag counts as the protective value, and so
 * does a refusal that another flag contradicts. An opt-out is a refusal of personalised advertising.
 *
 * @param properties Without personal data: what they say may be kept in memory.
 */
export function readConsent(properties: Properties): SaidConsent {
  const text = mentioned(properties, '');
  if (text === '') return NOTHING_SAID;
  const before = readBefore.get(text);
  if (before !== undefined) return before;
  const said = saidIn(properties);
  if (text.length <= READ_CHARACTERS_MAX) {
    if (readBefore.size >= READ_MAX) readBefore.clear();
    readBefore.set(text, said);
  }
  return said;
}

/** A number too large to be one is none that JSON has: it would be written as null, which says nothing, and is unreadable. */
const distinct = (_name: string, value: unknown): unknown =>
  typeof value === 'number' && !Number.isFinite(value) ? `\0${value}` : value;

/** What may say something, as a text; empty where nothing does. */
function mentioned(properties: Properties, within: string): string {
  let text = '';
  for (const name in properties) {
    if (!CONSENT_PROPERTIES.has(name)) continue;
    const value = name === 'context' ? unwrapped(properties[name]) : properties[name];
    if (name !== 'context') text += `${within}${name}:${JSON.stringify(value, distinct)},`;
    else if (within === '' && isRecord(value)) text += mentioned(value, 'context.');
  }
  return text;
}

function saidIn(properties: Properties): SaidConsent {
  const consent = consentOf(properties);
  return {
    ...consent,
    ...(restricts(under(properties, OPT_OUT_NAMES, readFlag)) === true ? { ad_personalization: false } : {}),
    limited_data_use: restricts([
      ...under(properties, LIMITED_NAMES, readFlag),
      ...under(properties, SIGNAL_NAMES, fromLimitingSignal),
      ...under(properties, OPTIONS_NAMES, fromOptions),
      ...under(properties, SALE_NAMES, fromSale),
    ]),
    gpc: restricts([fromLimitingSignal(properties['$gpc'])]) === true,
  };
}
