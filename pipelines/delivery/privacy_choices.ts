import { type Consent, consentOf } from './consent.ts';
import { isRecord, type Properties } from './properties.ts';
import { type Stated, stated, unwrapped, wordOf } from './stated.ts';

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
function fromOptions(value: unknown): Stated {
  const given = unwrapped(value);
  const whole = Array.isArray(given) ? (given.length === 0 ? 'no' : 'unreadable') : stated(given);
  if (whole !== 'unreadable') return whole;
  const options = Array.isArray(given) ? given : typeof given === 'string' ? given.split(/[,;\s]+/) : [given];
  const said = options.map((option: unknown) => optionSays(option));
  if (said.includes('yes')) return 'yes';
  return said.every((one) => one === 'absent' || one === 'no') ? 'no' : 'unreadable';
}

function optionSays(option: unknown): Stated {
  const word = wordOf(option);
  if (LIMITING_OPTIONS.has(word)) return 'yes';
  return word === 'none' ? 'no' : stated(option);
}

/** What only limits: that it is not set is no permission. */
function fromSignal(value: unknown): Stated {
  const says = stated(value);
  return says === 'no' ? 'absent' : says;
}

/** The IAB's US privacy string: version, notice, opted out of sale, agreement. */
function fromSale(value: unknown): Stated {
  if (stated(value) === 'absent') return 'absent';
  const optedOut = /^\d[yn-]([yn-])[yn-]$/.exec(wordOf(value))?.[1];
  if (optedOut === undefined) return 'unreadable';
  return optedOut === 'y' ? 'yes' : 'absent';
}

/** Whether something restrictive was said: what cannot be read counts as if it was, and one yes outweighs any no. */
function restricts(said: readonly Stated[]): boolean | null {
  if (said.includes('yes') || said.includes('unreadable')) return true;
  return said.includes('no') ? false : null;
}

function under(properties: Properties, names: readonly string[], read: (value: unknown) => Stated): Stated[] {
  const context = unwrapped(properties['context']);
  const places = isRecord(context) ? [properties, context] : [properties];
  return places.flatMap((place) => names.map((name) => read(place[name])));
}

/** What the site declares where an event says nothing: the setting `consent` of the destinations that have one. */
function declared(settings: unknown): boolean | null {
  const word = isRecord(settings) ? settings['consent'] : undefined;
  return word === 'granted' ? true : word === 'denied' ? false : null;
}

/**
 * Reads every privacy flag of an event, in whatever shape it was sent. An unreadable flag counts as the protective value,
 * and so does a refusal that another flag contradicts. An opt-out is a refusal of personalised advertising.
 */
export function privacyChoices(properties: Properties, settings: unknown): PrivacyChoices {
  const consent = consentOf(properties);
  const fallback = declared(settings);
  const optedOut = restricts(under(properties, OPT_OUT_NAMES, stated)) === true;
  return {
    adUserData: consent.adUserData ?? fallback,
    adPersonalization: optedOut ? false : (consent.adPersonalization ?? fallback),
    analytics: consent.analytics,
    limitedDataUse: restricts([
      ...under(properties, LIMITED_NAMES, stated),
      ...under(properties, SIGNAL_NAMES, fromSignal),
      ...under(properties, OPTIONS_NAMES, fromOptions),
      ...under(properties, SALE_NAMES, fromSale),
    ]),
  };
}

/** Whether an event may be used for measuring only, if at all. */
export const isRestricted = ({ adPersonalization, limitedDataUse }: PrivacyChoices): boolean =>
  adPersonalization === false || limitedDataUse === true;
