import { addressOf } from '../../router.ts';
import type { DestinationRow } from './destination_rows.ts';
import type { Kind } from './setting_form.ts';

/** What is shown of one destination, and what may be done with it. */
export interface DestinationDialogProps {
  siteId: string;
  row: DestinationRow;
  /** Undefined where kinds are not known, or this one is there no more. */
  kind: Kind | undefined;
  mayChange: boolean;
  onChanged(): void;
  onClose(): void;
}

/** The path of a destination in the API. */
export const destinationPath = (siteId: string, name: string): string =>
  `/v1/admin/sites/${encodeURIComponent(siteId)}/destinations/${encodeURIComponent(name)}`;

/** The address of a new replay of the dead letters of a destination, all that are kept. */
export const replayAddress = (siteId: string, name: string): string =>
  addressOf('/replays', new URLSearchParams({ new: '1', destination: name, site: siteId, source: 'dead_letters' }));

/** The address of what a destination refused for good, letter by letter. */
export const lettersAddress = (siteId: string, name: string): string =>
  addressOf('/dead-letters', new URLSearchParams({ period: '24h', site: siteId, destination: name }));
