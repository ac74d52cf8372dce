// Rates of currencies, by which revenue is told in one: of the whole installation.

import { rateProblems } from '#pipelines/analytics/revenue/rates.ts';
import * as api from '#services/control_api/queries.ts';
import { inAll } from '../auth.ts';
import { type ControlServices, type GatheredAnswer, refused, refusedFor, resource, route } from '../route.ts';

const path = '/v1/admin/rates';
const success = { status: 200, schema: api.ratesShape, description: 'What is loaded then' } as const;

const loaded = async ({ rates }: Pick<ControlServices, 'rates'>): Promise<GatheredAnswer> => ({
  kind: 'answered',
  body: await rates.read(),
});

export const rateRoutes = resource('Queries', [
  route('GET', path, 'getRates', {
    access: inAll('queries.manage'),
    summary: 'Which rates of currencies are loaded',
    success: { ...success, description: 'What is loaded' },
    errors: ['query_unavailable'],
    gather: (_input, services) => loaded(services),
  }),
  route('PUT', path, 'loadRates', {
    access: inAll('queries.manage'),
    summary: 'Load rates of currencies by days; answers that are cached have them within ten minutes',
    body: api.ratesInput,
    success,
    errors: ['rates_base_differs', 'query_unavailable', 'settings_not_stored'],
    async gather({ body }, services) {
      const { base, rates } = body as api.RatesInput;
      const refusal = refusedFor(rateProblems(base, rates));
      if (refusal !== null) return refusal;
      const { base: before } = await services.rates.read();
      if (before !== null && before !== base) return refused('rates_base_differs');
      const days = rates.map(({ day }) => day).sort();
      const world = await services.note('rates', { base, rates: rates.length, from: days[0], to: days.at(-1) });
      if ('kind' in world) return world;
      await services.rates.write(base, rates);
      return loaded(services);
    },
  }),
  route('DELETE', path, 'clearRates', {
    access: inAll('queries.manage'),
    summary: 'Take all rates of currencies back',
    success,
    errors: ['query_unavailable', 'settings_not_stored'],
    async gather(_input, services) {
      const world = await services.note('rates', { clear: true });
      if ('kind' in world) return world;
      await services.rates.clear();
      return loaded(services);
    },
  }),
]);
