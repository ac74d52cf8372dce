// Rates of currencies: loaded, listed and taken back.

import type { Rate } from '#pipelines/analytics/revenue/rates.ts';
import { AT_ONCE, insertRows, run, select, type Warehouse } from './client.ts';

/** What is loaded of a currency. */
interface LoadedRates {
  currency: string;
  /** The first and the last day, as 2026-10-01, and how many there are. */
  first: string;
  last: string;
  days: number;
}

export interface RateStore {
  /** The currency that all are against, or several where two were loaded at once; null where none is loaded. */
  read(): Promise<{ base: string | null; currencies: LoadedRates[] }>;
  /** Writes rates over those of the same currencies and days. */
  write(base: string, rates: readonly Rate[]): Promise<void>;
  /** Takes all back. */
  clear(): Promise<void>;
}

const LOADED = 'currency_rates FINAL WHERE rate > 0';

/** Rates in ClickHouse. What is taken back is written as 0, so that nothing has to be deleted. @throws WarehouseError */
export function createRateStore(warehouse: Warehouse): RateStore {
  return {
    async read() {
      const rows = await select<LoadedRates & { bases: string[] }>(
        warehouse,
        `SELECT currency, groupUniqArray(base) AS bases, toString(min(day)) AS first, toString(max(day)) AS last, toUInt32(count()) AS days
        FROM ${LOADED} GROUP BY currency ORDER BY currency`,
      );
      const currencies = rows.map(({ currency, first, last, days }) => ({ currency, first, last, days }));
      const bases = [...new Set(rows.flatMap((row) => row.bases))].sort();
      return { base: bases.length === 0 ? null : bases.join(', '), currencies };
    },
    async write(base, rates) {
      const days = [...new Set(rates.map(({ day }) => day))];
      const all = [...rates, ...days.map((day) => ({ day, currency: base, rate: 1 }))];
      // As data: ten thousand rates are longer than a parameter of a query may be.
      const rows = all.map(({ day, currency, rate }) => ({ day, currency, base, rate }));
      await insertRows(warehouse, 'currency_rates', rows, AT_ONCE);
    },
    clear: () =>
      run(
        warehouse,
        `INSERT INTO currency_rates (day, currency, base, rate) SELECT day, currency, base, 0 FROM ${LOADED}`,
      ),
  };
}
