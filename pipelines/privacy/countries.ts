// Codes of countries and states, and names of cities, as platforms compare them.
import { asSha256, sha256Hex } from './hash_identifiers.ts';
import { normalised } from './normalise_text.ts';

const TEXT_CHARACTERS_MAX = 100;
/** ISO 3166-2, a country and a part of it: `CA-ON`. */
const SUBDIVISION = /^([a-z]{2})-[a-z0-9]{1,3}$/i;

/**
 * ISO 3166-1: the three letters of each country and then its two. `xkxxk` is Kosovo, whose codes are in use though not
 * assigned.
 */
const CODES = [
  'abwaw afgaf agoao aiaai alaax albal andad areae argar armam asmas ataaq atftf atgag ausau autat azeaz bdibi',
  'belbe benbj besbq bfabf bgdbd bgrbg bhrbh bhsbs bihba blmbl blrby blzbz bmubm bolbo brabr brbbb brnbn btnbt',
  'bvtbv bwabw cafcf canca cckcc chech chlcl chncn civci cmrcm codcd cogcg cokck colco comkm cpvcv cricr cubcu',
  'cuwcw cxrcx cymky cypcy czecz deude djidj dmadm dnkdk domdo dzadz ecuec egyeg erier esheh espes estee ethet',
  'finfi fjifj flkfk frafr frofo fsmfm gabga gbrgb geoge ggygg ghagh gibgi gingn glpgp gmbgm gnbgw gnqgq grcgr',
  'grdgd grlgl gtmgt gufgf gumgu guygy hkghk hmdhm hndhn hrvhr htiht hunhu idnid imnim indin iotio irlie irnir',
  'irqiq islis isril itait jamjm jeyje jorjo jpnjp kazkz kenke kgzkg khmkh kirki knakn korkr kwtkw laola lbnlb',
  'lbrlr lbyly lcalc lieli lkalk lsols ltult luxlu lvalv macmo mafmf marma mcomc mdamd mdgmg mdvmv mexmx mhlmh',
  'mkdmk mliml mltmt mmrmm mneme mngmn mnpmp mozmz mrtmr msrms mtqmq musmu mwimw mysmy mytyt namna nclnc nerne',
  'nfknf ngang nicni niunu nldnl norno nplnp nrunr nzlnz omnom pakpk panpa pcnpn perpe phlph plwpw pngpg polpl',
  'pripr prkkp prtpt prypy pseps pyfpf qatqa reure rouro rusru rwarw sausa sdnsd sensn sgpsg sgsgs shnsh sjmsj',
  'slbsb slesl slvsv smrsm somso spmpm srbrs ssdss stpst sursr svksk svnsi swese swzsz sxmsx sycsc syrsy tcatc',
  'tcdtd tgotg thath tjktj tkltk tkmtm tlstl tonto ttott tuntn turtr tuvtv twntw tzatz ugaug ukrua umium uryuy',
  'usaus uzbuz vatva vctvc venve vgbvg virvi vnmvn vutvu wlfwf wsmws xkkxk yemye zafza zmbzm zwezw',
].join(' ');

const ALPHA_2_BY_3 = new Map(CODES.split(' ').map((pair): [string, string] => [pair.slice(0, 3), pair.slice(3)]));
const COUNTRIES: ReadonlySet<string> = new Set(ALPHA_2_BY_3.values());

/** The letters of a name as names are compared: in lower case, without spaces and punctuation. */
const lettersOf = (text: string): string =>
  normalised(text, 'NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}]/gu, '');

function namesOf(language: string): [string, string][] {
  const names = new Intl.DisplayNames([language], { type: 'region', fallback: 'none' });
  return [...COUNTRIES].flatMap((code): [string, string][] => {
    const name = names.of(code.toUpperCase());
    return name === undefined ? [] : [[lettersOf(name), code]];
  });
}

let codesByName: Map<string, string> | null = null;
let codesByHash: Map<string, string> | null = null;

/** Where languages differ on a name, the one that stands first in LANGUAGES counts. */
function byName(letters: string): string | null {
  codesByName ??= new Map(LANGUAGES.toReversed().flatMap(namesOf));
  return codesByName.get(letters) ?? null;
}

function byHash(hashed: string): string | null {
  codesByHash ??= new Map([...COUNTRIES].map((code) => [sha256Hex(code), code]));
  return codesByHash.get(hashed) ?? null;
}

/**
 * ISO 3166-1 alpha-2 in lower case, from a code of two or three letters, a code of a part of the country, a name in one of
 * many languages, or the SHA-256 of the code, as senders hash it for platforms; null when it is none of them.
 */
export function countryCode(text: string | null): string | null {
  if (text === null || text.length > TEXT_CHARACTERS_MAX) return null;
  const trimmed = text.trim();
  const hashed = asSha256(trimmed);
  if (hashed !== null) return byHash(hashed);
  const letters = lettersOf(SUBDIVISION.exec(trimmed)?.[1] ?? trimmed);
  const other = OTHER_NAMES.get(letters);
  if (other !== undefined) return other;
  if (/^[a-z]{2}$/.test(letters)) return COUNTRIES.has(letters) ? letters : null;
  return ALPHA_2_BY_3.get(letters) ?? byName(letters);
}

/** Languages in whose Unicode names countries are read. */
const LANGUAGES =
  'en de fr es it nl pt pl sv da nb fi cs sk hu ro bg hr sl el tr ru uk lt lv et ja zh zh-Hant ko'.split(' ');

/** Names and their codes, as `burma:mm`. */
function pairsOf(lists: readonly string[]): ReadonlyMap<string, string> {
  return new Map(lists.flatMap((list) => list.split(' ').map((pair) => pair.split(':') as [string, string])));
}

/** Names of countries that are in common use, or ISO's own, and that the Unicode names do not give. */
const OTHER_NAMES = pairsOf([
  'antiguaandbarbuda:ag boliviaplurinationalstateof:bo bonairesinteustatiusandsaba:bq bosniaandherzegovina:ba',
  'brd:de bruneidarussalam:bn burma:mm capeverde:cv congo:cd cotedivoire:ci czechrepublic:cz',
  'democraticrepublicofthecongo:cd england:gb falklandislandsmalvinas:fk greatbritain:gb',
  'heardislandandmcdonaldislands:hm holland:nl holysee:va hongkong:hk iranislamicrepublicof:ir',
  'islamicrepublicofiran:ir ivorycoast:ci koreademocraticpeoplesrepublicof:kp korearepublicof:kr',
  'laopeoplesdemocraticrepublic:la macao:mo macedonia:mk micronesiafederatedstatesof:fm moldovarepublicof:md',
  'myanmar:mm netherlandskingdomofthe:nl northernireland:gb northmacedonia:mk palestine:ps palestinestateof:ps',
  'peoplesrepublicofchina:cn republicofkorea:kr republicofmoldova:md republicofthecongo:cg russianfederation:ru',
  'saintkittsandnevis:kn saintlucia:lc saintmartinfrenchpart:mf saintpierreandmiquelon:pm',
  'saintvincentandthegrenadines:vc saotomeandprincipe:st schweiz:ch scotland:gb sintmaartendutchpart:sx',
  'southgeorgiaandthesouthsandwichislands:gs stateofpalestine:ps svalbardandjanmayen:sj swaziland:sz',
  'syrianarabrepublic:sy taiwanprovinceofchina:tw tanzaniaunitedrepublicof:tz thegambia:gm thenetherlands:nl',
  'trinidadandtobago:tt turkey:tr turksandcaicosislands:tc uae:ae uk:gb unitedrepublicoftanzania:tz',
  'unitedstatesofamerica:us usa:us venezuelabolivarianrepublicof:ve virginislandsbritish:vg virginislandsus:vi',
  'wales:gb wallisandfutuna:wf',
]);

const US_STATES = pairsOf([
  'alabama:al alaska:ak arizona:az arkansas:ar california:ca colorado:co connecticut:ct delaware:de',
  'districtofcolumbia:dc florida:fl georgia:ga hawaii:hi idaho:id illinois:il indiana:in iowa:ia kansas:ks',
  'kentucky:ky louisiana:la maine:me maryland:md massachusetts:ma michigan:mi minnesota:mn mississippi:ms',
  'missouri:mo montana:mt nebraska:ne nevada:nv newhampshire:nh newjersey:nj newmexico:nm newyork:ny',
  'northcarolina:nc northdakota:nd ohio:oh oklahoma:ok oregon:or pennsylvania:pa puertorico:pr rhodeisland:ri',
  'southcarolina:sc southdakota:sd tennessee:tn texas:tx utah:ut vermont:vt virginia:va washington:wa',
  'westvirginia:wv wisconsin:wi wyoming:wy',
]);

/**
 * State or region without punctuation and spaces, lower case; in the United States its two letters, also from the full
 * name or from ISO 3166-2 ("US-CA").
 */
export function stateCode(text: string | null, country: string | null): string | null {
  if (text === null) return null;
  const letters = lettersOf(text);
  if (country !== 'us') return letters === '' ? null : letters;
  if (/^us[a-z]{2}$/.test(letters)) return letters.slice(2);
  return US_STATES.get(letters) ?? (letters === '' ? null : letters);
}

/** City in lower-case letters of any script, without punctuation, digits and spaces. */
export function cityName(text: string | null): string | null {
  const letters = text === null ? '' : lettersOf(text);
  return letters === '' ? null : letters;
}

/**
 * Postal codes to match by: lower case, no spaces or dashes; in the United States the first five digits of its five or
 * nine. For the United Kingdom both the whole code and its area, district and sector, and elsewhere one with a dash also
 * with it, as platforms' pages ask for the one while their own libraries send the other. The first is the page's.
 */
export function postalCodes(text: string | null, country: string | null): string[] {
  if (text === null) return [];
  const lower = text.trim().toLowerCase();
  const code = lower.replace(/[^\p{L}\p{N}]/gu, '');
  if (code === '') return [];
  const mayBeUs = country === 'us' || (country === null && /^\d{5}-\d{4}$/.test(lower));
  if (mayBeUs && /^\d{5}(\d{4})?$/.test(code)) return [code.slice(0, 5)];
  if (country === 'gb' && /^[a-z]{1,2}\d[a-z\d]?\d[a-z]{2}$/.test(code)) return [code, code.slice(0, -2)];
  return lower.includes('-') ? [code, lower.replace(/[^\p{L}\p{N}-]/gu, '')] : [code];
}
