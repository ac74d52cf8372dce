type Choice = 'granted' | 'denied';

/** Google's consent types in the order of `gcd`. */
const TYPES = ['ad_storage', 'analytics_storage', 'ad_user_data', 'ad_personalization'];

/**
 * What a letter of `gcd` says after both the default and the visitor's own choice; `l`: neither was set. A letter that
 * Google may add counts as a refusal, as everywhere where consent cannot be read.
 */
const LETTERS: ReadonlyMap<string, Choice | null> = new Map([
  ['l', null],
  ['p', 'denied'],
  ['q', 'denied'],
  ['t', 'granted'],
  ['r', 'granted'],
  ['m', 'denied'],
  ['n', 'granted'],
  ['u', 'denied'],
  ['v', 'granted'],
]);
/** A digit and a letter for each type, with digits in front and behind: `11t1t1t1t5`, `13l3l3l2l1`. */
const DEFAULTS = /^\d(?:\d([a-z]))(?:\d([a-z]))(?:\d([a-z]))(?:\d([a-z]))/i;

/**
 * What a hit says of consent beside its `gcs`, which is read where it is delivered: Google's consent types out of `gcd`, and
 * that no service of Google's may have the data where the Digital Markets Act applies (`dma=1`, `dma_cps=-`).
 */
export function consentOfHit(fields: ReadonlyMap<string, string>): Record<string, Choice> {
  const consent: Record<string, Choice> = {};
  const [, ...letters] = DEFAULTS.exec(fields.get('gcd') ?? '') ?? [];
  letters.forEach((letter, at) => {
    const choice = LETTERS.get(letter.toLowerCase());
    if (choice !== null) consent[TYPES[at] ?? ''] = choice ?? 'denied';
  });
  if (fields.get('dma') === '1' && fields.get('dma_cps') === '-') consent['ad_user_data'] = 'denied';
  return consent;
}
