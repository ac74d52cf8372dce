import { resolveBatch } from '../own_script.ts';
import { guarded } from '../page.ts';
import type { PartHost } from '../types.ts';

/** What the IAB's TCF (version 2.2) says of a visitor. */
interface TcData {
  eventStatus?: string;
  gdprApplies?: boolean;
  purpose?: { consents?: Record<number, boolean> };
}
interface TcfWindow {
  __tcfapi?: (command: string, version: number, answer: (data: TcData, success: boolean) => void) => void;
}

/** As signals of a banner's tool. Purposes: 1 storage, 4 personalised ads, 7 and 8 measuring of ads and of content. */
function signalsOf({ eventStatus, gdprApplies, purpose }: TcData): object {
  const given = (...purposes: number[]): boolean | undefined =>
    gdprApplies === false ? undefined : purposes.every((one) => purpose?.consents?.[one]);
  return { ad_tcf: given(1, 4, 7), analytics_tcf: given(1, 8), told: eventStatus !== 'cmpuishown' };
}

/** Follows the page's TCF. @returns that it does. */
resolveBatch(({ hear }: PartHost) => {
  const follow = guarded(() =>
    (window as TcfWindow).__tcfapi?.('addEventListener', 2, (data, success) => {
      hear(success ? signalsOf(data) : undefined);
    }),
  );
  follow();
  return true;
});
