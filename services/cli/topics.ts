// Topics: the command works on the brokers themselves, by the variables of a process, or on those of what runs here.
import { type StaticDecode, Type } from 'typebox';
import { type Environment, readSettings } from '#infra/config/environment.ts';
import { PARTS } from '#infra/config/service_config.ts';
import { type Commands, UsageError } from './command.ts';

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
