import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { bundle } from '#infra/bundler/bundle.ts';
import type { TestBrowser } from '../../harness/chromium.ts';
import { html, type PageServer, startPageServer } from '../../harness/page_server.ts';

const SOURCES = join(import.meta.dirname, '../../../../services/tag/src');
const HEAD = '<script type="module">import * as tag from "/module.mjs"; window.tag = tag;</script>';

/** Pages on which one module of the tag runs by itself, under `window.tag`. */
export interface ModulePages {
  server: PageServer;
  /** Opens a page with this body, in a visitor's first visit; the one before is closed. */
  open(body: string, path?: string, prepare?: (context: BrowserContext) => Promise<void>): Promise<Page>;
  close(): Promise<void>;
}

/**
 * Serves pages with a module of services/tag/src.
 *
 * @param scripts entries there that the module loads, by the path under which it does.
 */
export async function startModulePages(
  browser: TestBrowser,
  module: string,
  scripts: Record<string, string> = {},
): Promise<ModulePages> {
  const files = new Map([['/module.mjs', await bundle({ entry: join(SOURCES, module), format: 'esm' })]]);
  for (const [path, entry] of Object.entries(scripts)) {
    files.set(path, await bundle({ entry: join(SOURCES, entry), format: 'iife' }));
  }
  let body = '';
  let context: BrowserContext | undefined;
  const server = await startPageServer(({ url = '/' }) => {
    const script = files.get(url);
    return script
      ? { body: Buffer.from(script), headers: { 'content-type': 'text/javascript' } }
      : { body: html({ head: HEAD, body, title: 'Shop' }) };
  });
  return {
    server,
    async open(shown, path = '/', prepare) {
      body = shown;
      await context?.close();
      context = await browser.newContext();
      await prepare?.(context);
      const page = await context.newPage();
      await page.goto(server.url + path);
      return page;
    },
    close: () => server.close(),
  };
}
