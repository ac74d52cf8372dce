// Rates of currencies: loaded, listed and taken back.

import type { Rate } from '#pipelines/analytics/revenue/rates.ts';
import { run, select, type Warehouse } from './client.ts';

/** What is loaded of a currency. */
interface LoadedRates {
  currency: string;
  /** The first and the last day, as 2026-10-01, and how many there are. */
  first: string;
  last: string;
  days: number;
}

export interface RateStore {
  /** The currency that all are against; null where none is loaded. */
  read(): Promise<{ base: string | null; currencies: LoadedRates[] }>;
  /** Writes rates over those of the same currencies and days. */
  write(base: string, rates: readonly Rate[]): Promise<void>;
  /** Takes all back. */
  clear(): Promise<void>;
}

const LOADED = 'currency_rates FINAL WHERE rate > 0';
const INSERT = 'INSERT INTO currency_rates (day, currency, base, rate, loaded_at)';

/** Rates in ClickHouse. What is taken back is written as 0, so that nothing has to be deleted. @throws WarehouseError */
export function createRateStore(warehouse: Warehouse): RateStore {
  return {
    async read() {
      const rows = await select<LoadedRates & { base: string }>(
        warehouse,
        `SELECT currency, any(base) AS base, toString(min(day)) AS first, toString(max(day)) AS last, toUInt32(count()) AS days
        FROM ${LOADED} GROUP BY currency ORDER BY currency`,
      );
      const currencies = rows.map(({ currency, first, last, days }) => ({ currency, first, last, days }));
      return { base: rows[0]?.base ?? null, currencies };
    },
    write(base, rates) {
      const [days, currencies, numbers] = [
        rates.map(({ day }) => day),
        rates.map(({ currency }) => currency),
        rates.map(({ rate }) => rate),
      ];
      return run(
        warehouse,
        `${INSERT} SELECT toDate(one.1), one.2, {base:String}, one.3, now64(3)
        FROM (SELECT arrayJoin(arrayZip({days:Array(String)}, {currencies:Array(String)}, {numbers:Array(Float64)})) AS one)
        UNION ALL SELECT toDate(arrayJoin(arrayDistinct({days:Array(String)}))), {base:String}, {base:String}, 1, now64(3)`,
        { base, days, currencies, numbers },
      );
    },
    clear: () => run(warehouse, `${INSERT} SELECT day, currency, base, 0, now64(3) FROM ${LOADED}`),
  };
}
