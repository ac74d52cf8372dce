import { isIP } from 'node:net';
import type { Event } from '#schemas/event.ts';

/** The visitor's IP address, version 4 or 6; null when the event has none that is one. */
export const clientAddress = ({ client_ip }: Event): string | null =>
  client_ip !== null && isIP(client_ip) > 0 ? client_ip : null;
