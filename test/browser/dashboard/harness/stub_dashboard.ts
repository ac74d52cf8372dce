import { randomUUID } from 'node:crypto';
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { createHttpServer, type HttpServer, listen } from '#infra/http/http_server.ts';
import { createLogger } from '#infra/log/logger.ts';
import { createDashboard, mountDashboard } from '#services/control/dashboard_files.ts';
import { openBrowser, type TestBrowser } from '../../harness/chromium.ts';
import type { ChromiumKind } from '../../harness/find_chromium.ts';
import { watchFaults } from './page_faults.ts';
import type { StubApi } from './stub_api.ts';

/** The real files of the dashboard with their real headers; what its API answers is what a test says. */
export interface StubDashboard {
  url: string;
  browser: TestBrowser;
  /** A tab that is nowhere yet. */
  open(api: StubApi, options?: BrowserContextOptions): Promise<Visit>;
  /** A signed-in person's tab at a path after /dashboard, with the answers of `api`. */
  visit(path: string, api: StubApi, options?: BrowserContextOptions): Promise<Visit>;
  close(): Promise<void>;
}

/** A tab, and what went wrong in it. */
interface Visit {
  page: Page;
  context: BrowserContext;
  /** Errors of scripts, and what the page's policy forbade. */
  faults: string[];
}

const REQUEST_MS_MAX = 30_000;
/** By which header a tab says whose answers it wants: requests that a tool intercepts would cost the page time of their own. */
const STUB_HEADER = 'x-stub-api';

/** Serves the dashboard, or what another entry is bundled to in its place, and opens a browser. */
export async function openStubDashboard(
  kind: ChromiumKind = 'shell',
  entry?: string,
  framesOf?: (linkId: string) => readonly string[],
): Promise<StubDashboard> {
  const app = createHttpServer({
    trustedProxies: [],
    bodyBytesMax: 1_000_000,
    requestTimeoutMs: REQUEST_MS_MAX,
    closingMs: 0,
  });
  const apis = mountApis(app);
  const load = createDashboard(createLogger('dashboard', 'error'), entry);
  mountDashboard(app, load, (reply) => reply.code(404).send(), framesOf);
  const url = `http://127.0.0.1:${await listen(app, '127.0.0.1', 0)}`;
  const browser = await openBrowser(kind);
  const open = async (api: StubApi, options?: BrowserContextOptions): Promise<Visit> => {
    const id = randomUUID();
    apis.set(id, api);
    const extraHTTPHeaders = { [STUB_HEADER]: id };
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, extraHTTPHeaders, ...options });
    const page = await context.newPage();
    return { page, context, faults: await watchFaults(page) };
  };
  return {
    url,
    browser,
    open,
    async visit(path, api, options) {
      const visit = await open(api, options);
      await visit.page.goto(`${url}/dashboard${path}`);
      return visit;
    },
    async close() {
      await browser.close();
      await app.close();
    },
  };
}

/** Answers of each tab's own API, by what the tab's header says. */
function mountApis(app: HttpServer): Map<string, StubApi> {
  const apis = new Map<string, StubApi>();
  app.all('/v1/*', (request, reply) => {
    const api = apis.get(String(request.headers[STUB_HEADER]));
    if (api === undefined) return reply.code(404).send();
    const url = new URL(request.url, 'http://stub.example');
    const sent = (request.body ?? null) as object | null;
    const { status, body, etag } = api.answer(request.method, url, sent, request.headers['if-match'] ?? null);
    if (etag !== undefined) reply.header('etag', etag);
    return reply.code(status).type('application/json').send(JSON.stringify(body));
  });
  return apis;
}
