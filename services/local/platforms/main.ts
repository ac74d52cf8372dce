import { join } from 'node:path';
import { readWords, refusal, serve } from '../local_process.ts';
import { standin as meta } from './meta.ts';
import { type PlatformStandin, type Standin, startPlatform } from './standin.ts';
import { standin as webhook } from './webhook.ts';

/** The platforms that `npm start` plays for the demo's sites, by their destinations' names. */
const PLATFORMS: Readonly<Record<string, PlatformStandin>> = { meta, webhook };

const refuse: () => never = refusal(`node services/local/platforms/main.ts --NAME-port PORT … --state-dir FOLDER
NAME is one or more of ${Object.keys(PLATFORMS).join(', ')}; port 0 takes a free one.
`);

function portOf(text: string): number {
  const port = Number(text);
  return text !== '' && Number.isInteger(port) && port >= 0 && port <= 65_535 ? port : refuse();
}

const words = readWords([...Object.keys(PLATFORMS).map((name) => `${name}-port`), 'state-dir'], refuse);
const stateDir = words['state-dir'] ?? '.local/standin';
const wanted = Object.entries(PLATFORMS).flatMap(([name, platform]) => {
  const text = words[`${name}-port`];
  return text === undefined ? [] : [{ name, platform, port: portOf(text) }];
});
if (wanted.length === 0) refuse();

const standins = await Promise.all(
  wanted.map(async ({ name, platform, port }): Promise<[name: string, standin: Standin]> => {
    return [name, await startPlatform(platform, { port, ledgerPath: join(stateDir, `${name}.jsonl`) })];
  }),
);
const urls = Object.fromEntries(standins.map(([name, { url }]) => [name, url]));

process.stdout.write(`${JSON.stringify({ ready: true, ...urls })}\n`);
serve('standin', urls, () => Promise.all(standins.map(([, standin]) => standin.stop())));
