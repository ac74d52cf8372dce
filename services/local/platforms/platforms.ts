import { standin as ga4 } from './ga4.ts';
import { standin as google } from './google.ts';
import { standin as meta } from './meta.ts';
import { standin as pinterest } from './pinterest.ts';
import type { PlatformStandin } from './platform.ts';
import { standin as posthog } from './posthog.ts';
import { standin as reddit } from './reddit.ts';
import { standin as snapchat } from './snapchat.ts';
import { standin as tiktok } from './tiktok.ts';
import { standin as webhook } from './webhook.ts';

/** The platforms that the stand-in process can play, by their destinations' names. */
export const PLATFORMS: Readonly<Record<string, PlatformStandin>> = {
  meta,
  tiktok,
  ga4,
  google,
  webhook,
  posthog,
  snapchat,
  pinterest,
  reddit,
};
