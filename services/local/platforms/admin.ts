import type { Ledger } from './acceptance_ledger.ts';
import { readRules, type Script } from './fault_script.ts';
import type { PlatformAnswer, PlatformRequest } from './http_exchange.ts';

const PREFIX = '/_standin/';
const PAGE_MAX = 1_000_000;

export interface Administered {
  ledger: Ledger;
  script: Script;
  requests: PlatformRequest[];
}

const json = (value: unknown, status = 200): PlatformAnswer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
});

function wholeOf(text: string | null, otherwise: number): number {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : otherwise;
}

function metrics(ledger: Ledger): PlatformAnswer {
  const lines = Object.entries(ledger.totals()).flatMap(([scope, { first, repeated }]) => [
    `standin_accepted_total{scope=${JSON.stringify(scope)},kind="first"} ${first}`,
    `standin_accepted_total{scope=${JSON.stringify(scope)},kind="repeated"} ${repeated}`,
  ]);
  return { status: 200, body: ['# TYPE standin_accepted_total counter', ...lines, ''].join('\n') };
}

function setScript(script: Script, body: string): PlatformAnswer {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return json({ error: 'not JSON' }, 400);
  }
  const rules = typeof value === 'object' && value !== null && 'rules' in value ? readRules(value.rules) : null;
  if (rules === null) return json({ error: 'rules are malformed' }, 400);
  script.set(rules);
  return json({ rules: script.list() });
}

/**
 * The routes by which other processes direct a stand-in; null for a request to the platform itself.
 *
 * - `GET /_standin/health`
 * - `GET /_standin/ledger?cursor=N&limit=N` what was accepted, in order; without limit all of it
 * - `GET /_standin/totals` counts per scope
 * - `GET /_standin/requests` how many requests came, of the last 1000
 * - `GET /_standin/script`, `POST /_standin/script` with `{"rules": [...]}`, which replaces all rules
 * - `GET /metrics`
 */
export function answerAdmin(
  request: PlatformRequest,
  { ledger, script, requests }: Administered,
): PlatformAnswer | null {
  const url = new URL(request.path, 'http://standin');
  if (request.method === 'GET' && url.pathname === '/metrics') return metrics(ledger);
  if (!url.pathname.startsWith(PREFIX)) return null;
  const limit = wholeOf(url.searchParams.get('limit'), PAGE_MAX);
  switch (`${request.method} ${url.pathname.slice(PREFIX.length)}`) {
    case 'GET health':
      return json({ ok: true });
    case 'GET ledger':
      return json(ledger.page(wholeOf(url.searchParams.get('cursor'), 0), limit));
    case 'GET totals':
      return json(ledger.totals());
    case 'GET requests':
      return json({ count: requests.length });
    case 'GET script':
      return json({ rules: script.list() });
    case 'POST script':
      return setScript(script, request.body);
    default:
      return json({ error: 'no such route' }, 404);
  }
}
