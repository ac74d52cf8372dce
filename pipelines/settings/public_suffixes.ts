/** What registries of countries sell names under: `co.uk`, `com.au`, `or.jp`. */
const SECOND_LEVEL = new Set(
  'co com net org gov edu mil ac ad or ne go gr lg gob gouv gv govt nom info biz web ltd plc me sch nhs police id asn gen firm ind res nic in art blog dev eco emp flog adv adm coop fin tur ws idf k12 tm presse asso prd'.split(
    ' ',
  ),
);
const COUNTRY_CODE_CHARACTERS = 2;
/** Where strangers get names of their own beside each other: shops, pages, functions. */
const HOSTING = new Set(
  'github.io gitlab.io bitbucket.io pages.dev workers.dev r2.dev vercel.app netlify.app herokuapp.com myshopify.com shopifypreview.com web.app firebaseapp.com appspot.com run.app cloudfunctions.net azurewebsites.net azurestaticapps.net cloudapp.net windows.net cloudfront.net amazonaws.com elasticbeanstalk.com amplifyapp.com onrender.com fly.dev railway.app surge.sh glitch.me repl.co replit.app replit.dev codesandbox.io stackblitz.io ngrok.io ngrok.app ngrok.dev ngrok-free.app trycloudflare.com loca.lt blogspot.com wordpress.com wixsite.com weebly.com squarespace.com webflow.io framer.app framer.website carrd.co bigcartel.com mybigcommerce.com shop.app ecwid.com strikingly.com jimdosite.com jimdofree.com tumblr.com notion.site deno.dev edgeone.app lovable.app bubbleapps.io hubspotpagebuilder.com unbouncepages.com gitbook.io readthedocs.io ghost.io translate.goog googleusercontent.com usercontent.dev sharepoint.com zendesk.com uk.com us.com eu.com de.com gb.net co.com'.split(
    ' ',
  ),
);
/** Clouds that put regions before the names that strangers get, so that no wildcard below them is safe. */
const REGIONS = ['.amazonaws.com', '.windows.net', '.run.app', '.appspot.com', '.azurewebsites.net'];

/**
 * Whether anybody may get a name under this host: a top-level domain, a registry's second level, or a hosting service
 * that gives out names. Not the whole Public Suffix List, which would be the project's largest dependency; what it lacks
 * is an allow-list's own risk, since a site names its hosts itself.
 *
 * @param host In lower-case punycode.
 */
export function isPublicSuffix(host: string): boolean {
  const labels = host.split('.');
  if (labels.length < 2) return true;
  const [first = '', last = ''] = labels;
  if (labels.length === 2 && last.length === COUNTRY_CODE_CHARACTERS && SECOND_LEVEL.has(first)) return true;
  return HOSTING.has(host) || REGIONS.some((suffix) => host.endsWith(suffix));
}

/**
 * The name that somebody registered, on which cookies for all names below it stand: `shop.co.uk` for `t.shop.co.uk`. Null
 * for a public suffix.
 *
 * @param host In lower-case punycode.
 */
export function registrableDomain(host: string): string | null {
  const labels = host.split('.');
  const names = labels.map((_, from) => labels.slice(from).join('.'));
  return names.findLast((name) => !isPublicSuffix(name)) ?? null;
}
