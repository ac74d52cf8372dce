import { standin as meta } from './meta.ts';
import type { PlatformStandin } from './platform.ts';
import { standin as webhook } from './webhook.ts';

/** The platforms that `npm start` plays for the demo's sites, by their destinations' names. */
export const PLATFORMS: Readonly<Record<string, PlatformStandin>> = { meta, webhook };
