import type { Adapter } from './contract.ts';
import { ga4 } from './destinations/ga4/adapter.ts';
import { google } from './destinations/google/adapter.ts';
import { linkedin } from './destinations/linkedin/adapter.ts';
import { meta } from './destinations/meta/adapter.ts';
import { pinterest } from './destinations/pinterest/adapter.ts';
import { posthog } from './destinations/posthog/adapter.ts';
import { reddit } from './destinations/reddit/adapter.ts';
import { snapchat } from './destinations/snapchat/adapter.ts';
import { tiktok } from './destinations/tiktok/adapter.ts';
import { webhook } from './destinations/webhook/adapter.ts';

/** Every destination there is; topics, groups, settings forms and contract tests follow from this list. */
export const DESTINATIONS: readonly Adapter[] = [
  meta,
  tiktok,
  ga4,
  google,
  webhook,
  posthog,
  snapchat,
  pinterest,
  reddit,
  linkedin,
];

/** The destination of that name. Throws where there is none: a process is configured with it. */
export function destinationNamed(name: string): Adapter {
  const found = DESTINATIONS.find((destination) => destination.name === name);
  if (found === undefined) throw new Error(`no destination is called ${name}`);
  return found;
}
