import type { PageRules } from '#schemas/setting.ts';

/** Those of the site of uneven worlds. */
export const WORLD_PAGES: PageRules = {
  drop_trailing_slash: true,
  lower_case: true,
  drop_index_names: true,
  shorten_ids: true,
  hash_routes: true,
  parameters: ['step', 'color'],
  rules: ['/Kettle/:kind/*', '/tea-*', '/app#/orders/new', '/cart/'],
};

/** Addresses as senders have them, each behind the host. */
export const WORLD_PATHS = [
  ...[
    '/',
    '',
    '/mug',
    '/Mug',
    '/mug/',
    '/mug//',
    '/mug/index.html',
    '/kettle/7',
    '/kettle/8/',
    '/kettle/red/parts/lid',
  ],
  ...[
    '/kettle/Red/parts/',
    '/tea-green',
    '/tea-black/3',
    '/cart',
    '/cart/?step=2',
    '/cart?utm_source=x&step=2&color=',
    '/Default.aspx',
  ],
  ...[
    '/app#/',
    '/app/#/orders/41',
    '/app#/orders/42/?step=1',
    '/app#/orders/new',
    '/app#top',
    '/cart?step=1&color=red&step=0',
  ],
  ...[
    '/u/1f0c2d7a-0b1c-4d2e-8f3a-5b6c7d8e9f00/edit',
    '/u/5b6c7d8e9f005b6c7d8e',
    '/u/aZ09aZ09aZ09aZ09aZ09',
    '/index.html/mug',
  ],
] as const;

interface Address {
  origin: string;
  /** Parts between slashes. */
  path: string[];
  parameters: string[];
  /** Parts of a route in the fragment, its sign # or #! first; empty where there is none. */
  route: string[];
}

function read(address: string, hasRoutes: boolean): Address {
  const at = address.indexOf('#');
  const [before, fragment] = at < 0 ? [address, ''] : [address.slice(0, at), address.slice(at + 1)];
  const [located = '', ...query] = before.split('?');
  const origin = located.startsWith('http') ? located.split('/').slice(0, 3).join('/') : '';
  const path = located.slice(origin.length).split('/').slice(1);
  const sign = fragment.startsWith('!/') ? '#!' : '#';
  const isRoute = fragment.startsWith('/') || fragment.startsWith('!/');
  const [routed = '', ...routeQuery] = fragment.slice(sign.length - 1).split('?');
  const parameters = [query, isRoute && hasRoutes ? routeQuery : []].flatMap((texts) => texts.join('?').split('&'));
  return { origin, path, parameters, route: isRoute ? [sign, ...routed.split('/').slice(1)] : [] };
}

const withoutEnd = (parts: readonly string[], least: number): string[] => {
  const kept = [...parts];
  while (kept.length > least && kept.at(-1) === '') kept.pop();
  return kept;
};

const isId = (part: string): boolean =>
  Array.from(part).every((one) => '0123456789'.includes(one)) ||
  (part.length === 36 &&
    part
      .split('-')
      .map(({ length }) => length)
      .join() === '8,4,4,4,12' &&
    isHex(part.replaceAll('-', ''))) ||
  (part.length >= 16 && isHex(part)) ||
  (part.length >= 20 && /^[a-z0-9]+$/i.test(part) && /\d/.test(part));
const isHex = (part: string): boolean =>
  Array.from(part.toLowerCase()).every((one) => '0123456789abcdef'.includes(one));

function fits(rule: readonly string[], path: readonly string[]): boolean {
  const [wanted, ...others] = rule;
  const [part, ...rest] = path;
  if (wanted === undefined || part === undefined) return wanted === part;
  if (wanted === '*' && others.length === 0) return path.join('/') !== '';
  const isAny = wanted === '*' || wanted.startsWith(':');
  return (isAny ? part !== '' : fitsText(wanted, part)) && fits(others, rest);
}

function fitsText(wanted: string, part: string): boolean {
  if (!wanted.includes('*')) return wanted === part;
  const [first = '', ...others] = wanted.split('*');
  if (!part.startsWith(first)) return false;
  const behind = others.join('*');
  return Array.from({ length: part.length - first.length + 1 }, (_, skipped) =>
    part.slice(first.length + skipped),
  ).some((rest) => fitsText(behind, rest));
}

/** The page that an address is of, by the rules of its site; null: by none. */
export function pageByHand(address: string, rules: PageRules | null): string {
  const { origin, path, parameters, route } = read(address, rules?.hash_routes === true);
  if (rules === null) return [origin, ...path].join('/');
  let kept = [...path];
  const last = (kept.at(-1) ?? '').toLowerCase();
  const [name = '', ending = '', ...more] = last.split('.');
  const isIndex = ['index', 'default'].includes(name) && ['html', 'htm', 'php', 'asp', 'aspx', 'jsp'].includes(ending);
  if (rules.drop_index_names && isIndex && more.length === 0) kept[kept.length - 1] = '';
  if (rules.drop_trailing_slash) {
    kept = withoutEnd(kept, 1);
    if (kept.length === 0) kept = [''];
  }
  if (rules.hash_routes && route.slice(1).join('/') !== '') {
    const shown = rules.drop_trailing_slash ? withoutEnd(route, 2) : route;
    kept = [...kept.slice(0, -1), `${kept.at(-1) ?? ''}${shown[0] ?? ''}`, ...shown.slice(1)];
  }
  let host = origin;
  if (rules.lower_case) {
    host = host.toLowerCase();
    kept = kept.map((part) => part.toLowerCase());
  }
  const written = rules.rules.map((rule) => {
    const parts = rule.split('/').slice(1);
    const whole = rules.drop_trailing_slash ? withoutEnd(parts, 1) : parts;
    return whole.map((part) => (rules.lower_case && !part.startsWith(':') ? part.toLowerCase() : part));
  });
  const found = written.find((rule) => fits(rule, kept));
  if (found !== undefined) kept = found;
  else if (rules.shorten_ids) kept = kept.map((part) => (part !== '' && isId(part) ? ':id' : part));
  const counted = parameters.filter((one) => {
    const [parameter = '', ...value] = one.split('=');
    return rules.parameters.includes(parameter) && value.join('=') !== '';
  });
  return [host, ...kept].join('/') + (counted.length === 0 ? '' : `?${counted.toSorted().join('&')}`);
}
