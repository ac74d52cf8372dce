// Commands of the whole installation. Topics: the command works on the brokers themselves, by the variables of a process, or on those of
// what runs here. Rates of currencies: loaded from a file, shown and taken back.
import { type StaticDecode, Type } from 'typebox';
import { type Environment, readSettings } from '#infra/config/environment.ts';
import { PARTS } from '#infra/config/service_config.ts';
import { type Rate, RateFileError, readRates } from '#pipelines/analytics/revenue/rates.ts';
import { RATES_MAX, type RatesItem } from '#services/control_api/queries.ts';
import { type Commands, done, requiredOption, send, show, table, UsageError } from './command.ts';
import { readText } from './read.ts';

const PARTITIONS_MAX = 10_000;

export const topicCommands: Commands = {
  'topics grow <PARTITIONS>': {
    summary: 'Give the topics of events more partitions while everything runs, with rights to alter them',
    subject: 'How many each has then; they cannot be taken away again',
    examples: ['topics grow 24'],
    async run({ subject }, { partsEnvironment, watch }) {
      const count = /^\d+$/.test(subject) ? Number(subject) : 0;
      if (count < 1 || count > PARTITIONS_MAX) {
        throw new UsageError('number_malformed', `PARTITIONS must be a whole number from 1 to ${PARTITIONS_MAX}`);
      }
      if (!partsEnvironment['KAFKA_BROKERS']) {
        throw new UsageError('not_running', 'nothing runs here and KAFKA_BROKERS is not set');
      }
      const { grown } = await growByEnvironment(partsEnvironment, count, watch.say);
      const next = `set EVENT_PARTITIONS=${count} and restart each process with it, the edges last (npm start takes it from the topics)`;
      return {
        text: grown.length === 0 ? `All have ${count} already: ${next}` : `Now ${next}`,
        json: { partitions: count, grown },
      };
    },
  },
};

const KAFKA = Type.Object({ kafka: PARTS.properties.kafka });

/** @throws ConfigError, KafkaLoginError, GrowError */
async function growByEnvironment(env: Environment, count: number, say: (line: string) => void) {
  const { kafka: config }: StaticDecode<typeof KAFKA> = readSettings(KAFKA, env);
  // Loaded here, as the client takes longer to load than most commands to run.
  const [{ createKafka }, { growTopics }, { createLogger }] = await Promise.all([
    import('#infra/kafka/client.ts'),
    import('#infra/kafka/provision.ts'),
    import('#infra/log/logger.ts'),
  ]);
  const kafka = createKafka(config, `${config.prefix}.grow`, createLogger('grow', 'silent'));
  return growTopics({ kafka, prefix: config.prefix, count, say, nowMs: () => performance.now() });
}

const PATH = '/rates';

const COLUMNS = { CURRENCY: 'currency', FIRST: 'first', LAST: 'last', DAYS: 'days' } as const;

const outcomeOf = (rates: RatesItem) => {
  const { base, currencies } = rates;
  if (base === null) return done('No rates are loaded.', rates);
  return done([`Rates against ${base}:`, table(COLUMNS, currencies)], rates);
};

export const rateCommands: Commands = {
  'rates list': {
    summary: 'List the currencies that there are rates of, and of which days',
    run: show<RatesItem>(() => PATH, outcomeOf),
  },
  'rates load <FILE>': {
    summary: 'Load rates of currencies by days, by which revenue is told in one currency',
    subject:
      'a CSV of day,currency,rate, or of Date,USD,JPY,... as the European Central Bank has it; - is standard input',
    options: [requiredOption('base <CURRENCY>', 'The currency that they are against, as EUR', 'base')],
    examples: ['rates load eurofxref-hist.csv --base EUR'],
    async run(args, context) {
      const rates = ratesOf(readText(context, args.subject));
      const base = args.required('base');
      for (let at = 0; at < rates.length; at += RATES_MAX) {
        await context.client.send<RatesItem>('PUT', PATH, null, { base, rates: rates.slice(at, at + RATES_MAX) });
      }
      return outcomeOf(await context.client.get<RatesItem>(PATH));
    },
  },
  'rates clear': {
    summary: 'Take all rates of currencies back',
    run: send<RatesItem>('DELETE', () => PATH, outcomeOf),
  },
};

function ratesOf(csv: string): Rate[] {
  try {
    const rates = readRates(csv);
    if (rates.length > 0) return rates;
  } catch (error) {
    if (error instanceof RateFileError) throw new UsageError(error.code, error.message);
    throw error;
  }
  throw new UsageError('rates_unreadable', 'the file has no rates');
}
