import { isRecord, type Properties } from './properties.ts';
import { type Stated, stated, unwrapped } from './stated.ts';

/** What the visitor agreed to: true, false, or null where the event says nothing. */
export interface Consent {
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
  says: Stated;
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
function agreed(value: unknown): Stated {
  const word =
    typeof value === 'string'
      ? value
          .trim()
          .toLowerCase()
          .replace(/^consent_/, '')
      : '';
  if (GRANTED.has(word)) return 'yes';
  return DENIED.has(word) ? 'no' : stated(value);
}

/** Google's consent types, the categories of common consent banners, and words for all of them together. */
const PURPOSES: ReadonlyMap<string, readonly Purpose[]> = new Map([
  ['aduserdata', ['adUserData']],
  ['adpersonalization', ['adPersonalization']],
  ...['adstorage', 'ads', 'ad', 'advertising', 'advertisement', 'marketing', 'targeting'].map(
    (name): [string, readonly Purpose[]] => [name, ADVERTISING],
  ),
  ...['analyticsstorage', 'analytics', 'statistics', 'performance'].map((name): [string, readonly Purpose[]] => [
    name,
    ['analytics'],
  ]),
  ...['all', 'status', 'state', 'value', 'granted', 'accepted', 'given'].map((name): [string, readonly Purpose[]] => [
    name,
    ALL,
  ]),
  ...['functionalitystorage', 'personalizationstorage', 'securitystorage'].map((name): [string, readonly Purpose[]] => [
    name,
    NONE,
  ]),
  ...['functional', 'necessary', 'preferences'].map((name): [string, readonly Purpose[]] => [name, NONE]),
]);

const folded = (name: string): string => name.toLowerCase().replace(/[\s_-]+/g, '');

/** An object of purposes; one in which nothing is known by name is unreadable as a whole. */
function fromObject(given: Properties): Statement[] {
  const categories = unwrapped(given['categoryPreferences']);
  if (isRecord(categories)) return fromObject(categories);
  const names = Object.keys(given);
  const known = names.filter((name) => PURPOSES.has(folded(name)));
  if (known.length === 0) return names.length === 0 ? [] : [{ purposes: ALL, says: 'unreadable' }];
  return known.map((name) => ({ purposes: PURPOSES.get(folded(name)) ?? NONE, says: agreed(given[name]) }));
}

function fromConsent(value: unknown): Statement[] {
  const given = unwrapped(value);
  return isRecord(given) ? fromObject(given) : [{ purposes: ALL, says: agreed(given) }];
}

const DIGITS: Readonly<Record<string, Stated>> = { '0': 'no', '1': 'yes', '-': 'absent' };

/** Google's consent signal `gcs`: `G1` and a digit each for advertising and analytics. */
function fromSignal(value: unknown): Statement[] {
  if (stated(value) === 'absent') return [];
  const [, advertising, analytics] = /^G?1([01-])([01-])$/i.exec(String(value).trim()) ?? [];
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
    ...fromSignal(properties['gcs']),
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
 * purposes, also within `context`; from Google's consent types as properties of their own; and from gtag's `gcs`.
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
