import type { Permission } from '#pipelines/settings/access.ts';
import type { AccountItem, SiteChange, SiteItem } from '#services/control_api/sites.ts';
import type { Who } from '#services/control_api/users.ts';
import { API_ZONE, idOf } from '../../format.ts';

/** What the form of general settings holds. Empty texts stand for what is not set. */
export interface GeneralDraft {
  name: string;
  mode: SiteItem['mode'];
  category: SiteItem['business_category'];
  country: string;
  /** One on a line. */
  identifyEvents: string;
  clarity: string;
  gtm: string;
  /** A country and granted or denied on each line. */
  consentDefaults: string;
  eventDays: string;
  outcomeDays: string;
  timeZone: string;
  weekStart: NonNullable<SiteItem['week_start']>;
  personDays: string;
  visitorPlaces: NonNullable<SiteItem['visitor_places']>;
  visitorAddresses: NonNullable<SiteItem['visitor_addresses']>;
  currency: string;
  /** One on a line. */
  embedOrigins: string;
}

export const CATEGORIES: readonly { value: SiteItem['business_category']; label: string }[] = [
  { value: 'ecommerce_retail', label: 'Shops and retail' },
  { value: 'entertainment_media', label: 'Entertainment and media' },
  { value: 'education', label: 'Education' },
  { value: 'real_estate', label: 'Real estate' },
  { value: 'technology', label: 'Technology' },
  { value: 'financial_services', label: 'Financial services' },
  { value: 'automotive', label: 'Automotive' },
  { value: 'travel', label: 'Travel' },
  { value: 'other', label: 'Other' },
];

export const generalDraft = (site: SiteItem): GeneralDraft => ({
  name: site.name,
  mode: site.mode,
  category: site.business_category,
  country: site.default_country ?? '',
  identifyEvents: (site.identify_events ?? []).join('\n'),
  clarity: site.clarity_project_id ?? '',
  gtm: site.gtm_container_id ?? '',
  consentDefaults: site.consent_defaults
    .map(({ country, consent }) => `${country ?? EVERY_OTHER} ${consent}`)
    .join('\n'),
  eventDays: String(site.event_days ?? ''),
  outcomeDays: String(site.outcome_days ?? ''),
  timeZone: site.time_zone ?? API_ZONE,
  weekStart: site.week_start ?? 'monday',
  personDays: String(site.person_days ?? ''),
  visitorPlaces: site.visitor_places ?? 'city',
  visitorAddresses: site.visitor_addresses ?? 'whole',
  currency: site.currency ?? '',
  embedOrigins: site.embed_origins.join('\n'),
});

const EVERY_OTHER = 'else';

function consentDefaults(text: string): SiteItem['consent_defaults'] {
  const lines = text.split('\n').map((line) => line.trim().split(/[\s:=]+/));
  return lines
    .filter(([country]) => country !== '')
    .map(([country = '', consent = '']) => ({
      country: country.toLowerCase() === EVERY_OTHER ? null : country.toUpperCase(),
      // Other words are the service's to refuse.
      consent: consent.toLowerCase() as 'granted' | 'denied',
    }));
}

/** Not a number where the text is none: the service says what it takes. */
const daysOrNull = (text: string): number | null => (text.trim() === '' ? null : Number(text));

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((one) => one.trim())
    .filter((one) => one !== '');

export const orNull = (text: string): string | null => (text.trim() === '' ? null : text.trim());

export function generalChange(draft: GeneralDraft, site: SiteItem): SiteChange {
  const named = linesOf(draft.identifyEvents);
  const after = {
    name: draft.name.trim(),
    mode: draft.mode,
    business_category: draft.category,
    default_country: orNull(draft.country.toUpperCase()),
    identify_events: named.length === 0 ? null : named,
    clarity_project_id: orNull(draft.clarity),
    gtm_container_id: orNull(draft.gtm),
    consent_defaults: consentDefaults(draft.consentDefaults),
    event_days: daysOrNull(draft.eventDays),
    outcome_days: daysOrNull(draft.outcomeDays),
    time_zone: zoneOrNull(draft.timeZone),
    week_start: draft.weekStart === 'monday' ? null : draft.weekStart,
    person_days: daysOrNull(draft.personDays),
    visitor_places: draft.visitorPlaces === 'city' ? null : draft.visitorPlaces,
    visitor_addresses: draft.visitorAddresses === 'whole' ? null : draft.visitorAddresses,
    currency: orNull(draft.currency.toUpperCase()),
    embed_origins: linesOf(draft.embedOrigins),
  } satisfies SiteChange;
  const changed = Object.entries(after).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(site[name as keyof typeof after]),
  );
  return Object.fromEntries(changed);
}

export interface SiteDraft {
  name: string;
  /** Null: it follows the name. */
  siteId: string | null;
  /** Empty: an account of the site's own is made. */
  accountId: string;
  /** Events a month, of an account that is made. */
  allowance: string;
  timeZone: string;
  /** Empty: amounts stay in the currencies that were sent. */
  currency: string;
}

export const zoneOrNull = (zone: string): string | null => (zone === API_ZONE ? null : zone);

/** Today's names of zones that browsers list by older ones: Kolkata, where they say Calcutta. */
const ZONES_RENAMED = [
  'Africa/Asmara',
  'America/Argentina/Buenos_Aires',
  'America/Indiana/Indianapolis',
  'America/Nuuk',
  'Asia/Ho_Chi_Minh',
  'Asia/Kathmandu',
  'Asia/Kolkata',
  'Asia/Yangon',
  'Atlantic/Faroe',
  'Europe/Kyiv',
  'Pacific/Chuuk',
  'Pacific/Pohnpei',
];

/** Zones to choose from. */
export const zoneChoices = (): { value: string }[] => {
  const zones = new Set([...Intl.supportedValuesOf('timeZone'), ...ZONES_RENAMED]);
  zones.delete(API_ZONE);
  return [API_ZONE, ...[...zones].sort()].map((value) => ({ value }));
};

export const VISITOR_PLACES: readonly { value: NonNullable<SiteItem['visitor_places']>; label: string }[] = [
  { value: 'city', label: 'City, region and country' },
  { value: 'country', label: 'Country' },
  { value: 'none', label: 'None' },
];

export const VISITOR_ADDRESSES: readonly { value: NonNullable<SiteItem['visitor_addresses']>; label: string }[] = [
  { value: 'whole', label: 'Whole' },
  { value: 'cut', label: 'Without the last part' },
];

export const WEEK_STARTS: readonly { value: NonNullable<SiteItem['week_start']>; label: string }[] = [
  { value: 'monday', label: 'Monday' },
  { value: 'sunday', label: 'Sunday' },
  { value: 'saturday', label: 'Saturday' },
];

export const ALLOWANCE_USUAL = '1000000';

export const CURRENCY_HINT =
  'Others are converted by the rates that an operator loads on the page Operations, or by npm run svc -- rates load FILE --base EUR. Empty: as sent.';

export const siteIdOf = ({ name, siteId }: Pick<SiteDraft, 'name' | 'siteId'>): string => (siteId ?? idOf(name)).trim();

export function accountsWith(
  permission: Permission,
  accounts: readonly AccountItem[],
  grants: Who['grants'],
): AccountItem[] {
  const own = grants.filter(({ permissions, site_id }) => permissions.includes(permission) && site_id === null);
  return accounts.filter((account) =>
    own.some(({ account_id }) => account_id === null || account_id === account.account_id),
  );
}
