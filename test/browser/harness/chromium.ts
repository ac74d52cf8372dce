import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium } from 'playwright-core';
import { registerChild } from '#services/local/parts/processes.ts';
import { partEnvironment } from '#services/local/parts/tools.ts';
import { processesWith } from '#test/harness/processes.ts';
import { CERTIFICATE } from './delay_proxy.ts';
import { type ChromiumKind, type ChromiumProgram, findChromium } from './find_chromium.ts';

/** Headless browsers name themselves so, and the edge takes them for bots, as it should. */
export const USER_AGENT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36';

/** A browser for the tests of a file; each test opens a context of its own, which is a visitor's first visit. */
export interface TestBrowser {
  browser: Browser;
  program: ChromiumProgram;
  newContext(options?: BrowserContextOptions): Promise<BrowserContext>;
  close(): Promise<void>;
}

/** A browser with a profile on disk, for tests that end it. */
export interface ProfileBrowser {
  context: BrowserContext;
  /** SIGKILL: what it has not written is gone, and what it has not sent as well. Resolves when no process of it is left. */
  kill(): Promise<void>;
  close(): Promise<void>;
}

/** Variable in the environment of every process of a browser, by whose value its processes are found. */
const RUN_VARIABLE = 'SVC_TEST_BROWSER';
const VISITOR: BrowserContextOptions = { userAgent: USER_AGENT, ignoreHTTPSErrors: true };
const WITHOUT = ['--disable-back-forward-cache'];

const ARGUMENTS = [
  '--no-sandbox',
  '--host-resolver-rules=MAP *.example 127.0.0.1',
  `--ignore-certificate-errors-spki-list=${CERTIFICATE.spkiSha256}`,
];

/**
 * Opens a browser of a kind, or one that was found. Names under `.example` are this machine; the certificate of the delaying
 * proxies is believed.
 */
export async function openBrowser(which: ChromiumKind | ChromiumProgram): Promise<TestBrowser> {
  const program = typeof which === 'string' ? await findChromium(which, console.log) : which;
  const browser = await chromium.launch({ ...launchOptions(program) });
  return {
    browser,
    program,
    newContext: (options) => browser.newContext({ ...VISITOR, ...options }),
    close: () => browser.close(),
  };
}

/** Opens a browser on a profile folder, which outlives it. */
export async function openProfile(folder: string): Promise<ProfileBrowser> {
  const program = await findChromium('whole', console.log);
  const run = randomUUID();
  const options = launchOptions(program, { [RUN_VARIABLE]: run });
  const context = await chromium.launchPersistentContext(folder, { ...options, ...VISITOR });
  return { context, kill: () => killAll(run), close: () => context.close() };
}

/**
 * Opens a page in a browser that nothing drives, waits, and ends it: Chromium prerenders nothing while a tool is attached.
 * What the page does is seen by the servers it talks to.
 */
export async function visitUndriven(url: string, until: Promise<unknown>): Promise<void> {
  const program = await findChromium('whole', console.log);
  const folder = mkdtempSync(join(tmpdir(), 'chromium-undriven-'));
  const own = ['--headless=new', '--no-first-run', '--disable-background-networking', '--disable-component-update'];
  const args = [...ARGUMENTS, ...own, `--user-data-dir=${folder}`, `--user-agent=${USER_AGENT}`, url];
  const run = randomUUID();
  const env = partEnvironment({ ...program.env, [RUN_VARIABLE]: run });
  const child = spawn(program.command, args, { env, stdio: 'ignore', detached: true });
  if (child.pid !== undefined) registerChild(child.pid);
  try {
    await until;
  } finally {
    await killAll(run);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

interface LaunchOptions {
  executablePath: string;
  args: string[];
  ignoreDefaultArgs: string[];
  env: Record<string, string>;
}

function launchOptions(program: ChromiumProgram, more: Record<string, string> = {}): LaunchOptions {
  const env = partEnvironment({ ...program.env, ...more }) as Record<string, string>;
  return { executablePath: program.command, args: ARGUMENTS, ignoreDefaultArgs: WITHOUT, env };
}

async function killAll(run: string): Promise<void> {
  for (let left = processesWith(RUN_VARIABLE, run); left.length > 0; left = processesWith(RUN_VARIABLE, run)) {
    for (const { pid } of left) kill(pid);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
