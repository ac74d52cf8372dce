import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startService } from '#test/harness/service.ts';
import { openBrowser } from '../harness/chromium.ts';
import { signedIn } from '../service/harness/signed_in.ts';
import { playDay } from './demo_day.ts';
import { takePictures } from './page_pictures.ts';

/** `npm run docs:pictures`: takes the pictures of docs/pictures anew, of a service of its own with the demo's day. */
const FOLDER = fileURLToPath(new URL('../../../docs/pictures', import.meta.url));

const dataDir = mkdtempSync(join(tmpdir(), 'pictures-'));
const service = await startService(dataDir, { onProgress: console.log });
const browser = await openBrowser('whole');
try {
  const shown = await playDay(service, browser);
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  const page = await signedIn(service, browser, '/', { timezoneId: 'Europe/Berlin' });
  await takePictures(page, shown, FOLDER);
} finally {
  await browser.close();
  await service.stop();
  rmSync(dataDir, { recursive: true, maxRetries: 5 });
}
