import { randomUUID } from 'node:crypto';
import { EMAIL } from './planted.ts';

/** A payment card's number that nothing else has, as it must be found nowhere. */
export const RAW_CARDS = [
  '4539782619057388',
  '4539 7826 1905 7388',
  '4539-7826-1905-7388',
  '4539%207826%201905%207388',
  '4539+7826+1905+7388',
];
/** What people type where they should not. A number alone may be an id: as such it is planted in no id. */
const CANARIES = [EMAIL, '+1 650 555 0142', RAW_CARDS[1] ?? '', `card ${RAW_CARDS[2]} 12/27`];
const CARD_ALONE = RAW_CARDS[0] ?? '';
const IDS: ReadonlySet<string> = new Set(['visitor.distinct_id']);

/** What it is sent to; to be defined before. */
export const PLANTED_DEFINITIONS = {
  survey: {
    id: 'canaries',
    name: 'Canaries',
    questions: [
      { id: 'why', type: 'open', text: 'Why?', max_length: 2000 },
      {
        id: 'which',
        type: 'single',
        text: 'Which?',
        choices: [
          { id: 'a', label: 'A' },
          { id: 'b', label: 'B' },
        ],
        open_choice: true,
      },
    ],
  },
  promo: { id: 'canaries', name: 'Canaries', title: 'Canaries' },
  form: {
    id: 'canaries',
    name: 'Canaries',
    spam: { min_ms: 0, links_max: 20 },
    fields: [
      { name: 'email', type: 'email', label: 'E-mail', map: 'email' },
      ...['first_name', 'last_name', 'city', 'zip', 'country', 'external_id', 'currency', 'order_id'].map((map) => ({
        ...{ name: map, type: 'text', label: map, map },
      })),
      { name: 'worth', type: 'number', label: 'Worth', map: 'value' },
      { name: 'seats', type: 'number', label: 'Seats', store: 'keep' },
      { name: 'subject', type: 'text', label: 'Subject', store: 'keep' },
      { name: 'customer', type: 'text', label: 'Customer', store: 'hash' },
      { name: 'message', type: 'textarea', label: 'Message' },
    ],
  },
} as const;

type Kind = keyof typeof PLANTED_DEFINITIONS;
type Body = Record<string, unknown>;

const PAGE = { url: 'https://shop.example/a?utm_source=b&q=c', title: 'Title', referrer: 'https://a.example/?q=c' };
const visitorOf = (id: string) => ({
  ...{ distinct_id: id, session_id: `s-${id}`, locale: 'de-AT', device: 'mobile', country: 'AT' },
  consent: { analytics: true },
});
const timestamp = () => new Date().toISOString();

/** A body of each route with everything in it that one may have. */
const FULL: [path: string, kind: Kind | null, make: (token: string, id: string) => Body][] = [
  [
    '/v1/engage',
    null,
    (_, id) => ({ page: PAGE, visitor: visitorOf(id), seen: { 'survey:canaries': { n: 1, last: 1 } } }),
  ],
  [
    '/v1/surveys/respond',
    'survey',
    (token, id) => ({
      ...{ survey_id: 'canaries', version: 1, submission_id: id, token, status: 'partial', elapsed_ms: 900 },
      answers: [
        { question_id: 'why', value: 'words' },
        { question_id: 'which', value: 'other' },
      ],
      ...{ page: PAGE, visitor: visitorOf(id), timestamp: timestamp() },
    }),
  ],
  [
    '/v1/promos/track',
    'promo',
    (token, id) => ({
      ...{ promo_id: 'canaries', version: 1, impression_id: id, token, action: 'redeem', value: 5, currency: 'EUR' },
      ...{ page: PAGE, visitor: visitorOf(id), timestamp: timestamp() },
    }),
  ],
  [
    '/v1/form',
    'form',
    (token, id) => ({
      ...{ form_id: 'canaries', version: 1, submission_id: id, token, status: 'submitted' },
      fields: {
        ...{ email: `p.${id}@mail.example`, first_name: 'A', last_name: 'B', city: 'C', zip: '1010', country: 'AT' },
        ...{ external_id: 'E', currency: 'EUR', order_id: 'O-1', worth: '5', seats: '2', subject: 'S', customer: 'K' },
        message: `words of ${id}`,
      },
      consent: { process: true, text_version: '2026-11' },
      challenge: { salt: 'a', challenge: 'b', signature: 'c', number: 1 },
      ...{ page: PAGE, visitor: visitorOf(id), timestamp: timestamp() },
    }),
  ],
];

/** Where a body has texts. */
function textPaths(value: unknown, path: string[] = []): string[][] {
  if (typeof value === 'string') return [path];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => textPaths(member, [...path, name]));
}

function planted(body: Body, path: readonly string[], canary: string): Body {
  const copy = structuredClone(body);
  let inside: Record<string, unknown> = copy;
  for (const name of path.slice(0, -1)) inside = inside[name] as Record<string, unknown>;
  inside[path.at(-1) ?? ''] = canary;
  return copy;
}

export interface PlantedAnswer {
  what: string;
  status: number;
  text: string;
}

let requests = 0;
/** Each from an address of its own, as one alone would be limited. */
async function post(edge: string, key: string, path: string, body: Body): Promise<{ status: number; text: string }> {
  requests += 1;
  const headers = { 'content-type': 'text/plain', 'x-forwarded-for': `198.19.${requests >> 8}.${requests & 255}` };
  const answer = await fetch(`${edge}${path}?key=${key}`, { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: answer.status, text: await answer.text() };
}

async function tokensFor(edge: string, key: string): Promise<Record<string, string>> {
  const { text } = await post(edge, key, '/v1/engage', { page: PAGE, visitor: { distinct_id: randomUUID() } });
  const { items } = JSON.parse(text) as { items: { kind: string; id: string; token: string }[] };
  return Object.fromEntries(items.filter(({ id }) => id === 'canaries').map(({ kind, token }) => [kind, token]));
}

/**
 * Types personal data into every text of every body that the routes of surveys, promos and forms take, one text at a time.
 *
 * @param readIt Lets the time pass that somebody needs to read what they are asked.
 * @returns what was answered, and how many events were taken.
 */
export async function plantEngage(
  edge: string,
  key: string,
  readIt: () => Promise<unknown>,
): Promise<{ answers: PlantedAnswer[]; accepted: number }> {
  const answers: PlantedAnswer[] = [];
  for (const [path, kind, make] of FULL) {
    const posts: [name: string, body: Body][] = [];
    for (const textPath of textPaths(make('', randomUUID()))) {
      const name = textPath.join('.');
      for (const canary of IDS.has(name) ? CANARIES : [...CANARIES, CARD_ALONE]) {
        const token = kind === null ? '' : ((await tokensFor(edge, key))[kind] ?? '');
        posts.push([name, planted(make(token, randomUUID()), textPath, canary)]);
      }
    }
    await readIt();
    for (const [name, body] of posts) {
      answers.push({ what: `${path} ${name}`, ...(await post(edge, key, path, body)) });
    }
  }
  return { answers, accepted: answers.filter(({ text }) => text.includes('"accepted":1')).length };
}
