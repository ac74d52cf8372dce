import { isLibraryUserAgent } from '#pipelines/privacy/library_user_agent.ts';
import { isReachableAddress } from '#pipelines/privacy/reachable_address.ts';
import type { Event } from '#schemas/event.ts';

/** The visitor's IP address, version 4 or 6; null when the event has none that can be a visitor's. */
export const clientAddress = ({ client_ip }: Event): string | null =>
  client_ip !== null && isReachableAddress(client_ip) ? client_ip : null;

/** The visitor's user agent; null when the event has none, or that of a server's HTTP library. */
export const clientUserAgent = ({ client_user_agent }: Event): string | null =>
  client_user_agent === null || isLibraryUserAgent(client_user_agent) ? null : client_user_agent;

/**
 * Whether address and browser say who it was. Of a sale in a shop, by telephone or by a back office they say at the most
 * which server reported it.
 */
export const isKnownByDevice = ({ action_source }: Event): boolean => action_source === 'website';
