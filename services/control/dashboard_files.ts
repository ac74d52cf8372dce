import { join } from 'node:path';
import { type AppBundle, bundleApp } from '#infra/bundler/bundle.ts';
import type { HttpReply, HttpRequestIn, HttpServer } from '#infra/http/http_server.ts';
import { type CodedFile, codeFile, FOR_EVER, sendFile } from '#infra/http/static_files.ts';
import type { Logger } from '#infra/log/logger.ts';

/** What browsers load of the dashboard, in memory. */
interface DashboardFiles {
  /** The one page; its script decides by the path what it shows. */
  page: CodedFile;
  /** The same where the script will show the overview: its code is fetched at once. */
  overview: CodedFile;
  /** The same for whoever has a shared link: nobody is asked who they are. */
  shared: CodedFile;
  /** By their names, which have a digest of their content. */
  assets: ReadonlyMap<string, CodedFile>;
}

/** The dashboard's files, or null where they cannot be made. */
export type LoadDashboard = () => Promise<DashboardFiles | null>;

const ENTRY = join(import.meta.dirname, '../dashboard/src/main.tsx');
/** The page that most visits begin with. */
const FIRST = join(import.meta.dirname, '../dashboard/src/pages/overview/overview_page.tsx');
const SHARED = join(import.meta.dirname, '../dashboard/src/pages/shared/shared_page.tsx');
const BASE = '/dashboard';
const ASSETS = `${BASE}/assets`;
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#3b5bdb"/><path d="M7 20h4l3-9 4 12 3-7h4" fill="none" stroke="#fff" stroke-width="2.5" stroke-linejoin="round" stroke-linecap="round"/></svg>';

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};
const HTML = 'text/html; charset=utf-8';
/**
 * What the script asks for as soon as it runs, whatever the page: it is fetched beside the script. Nothing else is, as an
 * answer that is not taken up at once would be given to whoever asks for the same later, after signing in.
 */
const ASKED_FIRST = '/v1/session';
/** The dashboard's own address goes on to the overview of the first site. */
const LEADS_TO_OVERVIEW = /^[^?]*\/(?:dashboard|overview)\/?(?:\?|$)/;

/** No inline code, no other host, no text that becomes markup. `frames`: who may have the page in a frame. */
const policyOf = (frames: readonly string[]): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "form-action 'self'",
    `frame-ancestors ${frames.length === 0 ? "'none'" : frames.join(' ')}`,
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types inert-html',
  ].join('; ');

/** Bundles and compresses the dashboard once, when it is first asked for. A failure is logged, and stays. */
export function createDashboard(logger: Logger, entry = ENTRY): LoadDashboard {
  let files: Promise<DashboardFiles | null> | null = null;
  return () => {
    files ??= makeFiles(entry).catch((error: unknown) => {
      logger.error({ err: error }, 'the dashboard could not be built; it is answered with 503');
      return null;
    });
    return files;
  };
}

async function makeFiles(entry: string): Promise<DashboardFiles> {
  const app = await bundleApp(entry, entry === ENTRY ? [FIRST] : []);
  const icon = await codeFile(Buffer.from(ICON), 'well');
  const iconName = `icon.${icon.digest}.svg`;
  const coded = await Promise.all(
    app.files.map(async ({ name, bytes }) => [name, await codeFile(Buffer.from(bytes), 'well')] as const),
  );
  return {
    page: await codeFile(Buffer.from(pageOf(app, iconName, [])), 'well'),
    shared: await codeFile(Buffer.from(pageOf(app, iconName, app.later.get(SHARED) ?? [], null)), 'well'),
    overview: await codeFile(Buffer.from(pageOf(app, iconName, app.later.get(FIRST) ?? [])), 'well'),
    assets: new Map([...coded, [iconName, icon]]),
  };
}

/** @param asked What the script will ask for at once; null: nothing. */
function pageOf(
  { script, style, preloads }: AppBundle,
  icon: string,
  first: readonly string[],
  asked: string | null = ASKED_FIRST,
): string {
  const styles = style === null ? [] : [`<link rel="stylesheet" href="${ASSETS}/${style}">`];
  const beside = new Set([...preloads, ...first]);
  const modules = [...beside].map((name) => `<link rel="modulepreload" href="${ASSETS}/${name}">`);
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    '<meta name="robots" content="noindex">',
    '<title>Dashboard</title>',
    `<link rel="icon" href="${ASSETS}/${icon}">`,
    ...styles,
    ...modules,
    ...(asked === null ? [] : [`<link rel="preload" as="fetch" crossorigin href="${asked}">`]),
    `<script type="module" src="${ASSETS}/${script}"></script>`,
    '</head>',
    '<body><div id="app"></div><noscript><p>The dashboard needs JavaScript.</p></noscript></body>',
    '</html>',
    '',
  ].join('\n');
}

/** How the dashboard's answers are refused. */
type Refuse = (reply: HttpReply, code: 'not_found' | 'dashboard_not_built') => HttpReply;

/**
 * Serves the dashboard: its page under every path of its own, its files under names that never change.
 *
 * @param framesOf Origins whose pages may have a shared link in a frame, by its id; without it none may.
 */
export function mountDashboard(
  app: HttpServer,
  load: LoadDashboard,
  refuse: Refuse,
  framesOf: (linkId: string) => readonly string[] = () => [],
): void {
  const withHead = { exposeHeadRoute: true };
  for (const path of ['/', BASE]) app.get(path, withHead, (_request, reply) => reply.redirect(`${BASE}/`, 302));
  app.get(`${ASSETS}/:name`, withHead, async (request, reply) => {
    const { name } = request.params as { name: string };
    const files = await load();
    if (files === null) return refuse(reply, 'dashboard_not_built');
    const file = files.assets.get(name);
    if (file === undefined) return refuse(reply, 'not_found');
    return sendFile(
      request,
      reply.header('cache-control', FOR_EVER),
      file,
      TYPES[name.split('.').at(-1) ?? ''] ?? HTML,
    );
  });
  // What opens a link is in the fragment, which no browser sends. What is answered is the same for links that there are not.
  app.get(`${BASE}/shared/:link`, withHead, async (request, reply) => {
    const files = await load();
    if (files === null) return refuse(reply, 'dashboard_not_built');
    const { link } = request.params as { link: string };
    reply
      .header('cache-control', 'no-store')
      .header('content-security-policy', policyOf(framesOf(link)))
      .header('referrer-policy', 'no-referrer')
      .header('x-robots-tag', 'noindex, nofollow');
    return sendFile(request, reply, files.shared, HTML);
  });
  app.get(`${BASE}/*`, withHead, (request, reply) => sendPage(request, reply, load, refuse));
}

async function sendPage(
  request: HttpRequestIn,
  reply: HttpReply,
  load: LoadDashboard,
  refuse: Refuse,
): Promise<HttpReply> {
  const files = await load();
  if (files === null) return refuse(reply, 'dashboard_not_built');
  reply
    .header('cache-control', 'no-cache')
    .header('content-security-policy', policyOf([]))
    .header('referrer-policy', 'same-origin')
    // Who opens the dashboard has no hold on it; a page that it opens to choose an element on can answer.
    .header('cross-origin-opener-policy', 'same-origin-allow-popups');
  return sendFile(request, reply, LEADS_TO_OVERVIEW.test(request.url) ? files.overview : files.page, HTML);
}
