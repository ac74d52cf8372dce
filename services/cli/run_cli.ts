// The command line: its table of commands, read and explained by commander, and running one.

import { CommanderError, Command as Program } from 'commander';
import { type StaticDecode, Type } from 'typebox';
import { type Environment, readSettings } from '#infra/config/environment.ts';
import { PARTS } from '#infra/config/service_config.ts';
import { RATES_MAX, type Rate, RateFileError, readRates } from '#pipelines/analytics/revenue/rates.ts';
import { ControlRefusal } from '#services/control_api/client.ts';
import type { RatesItem } from '#services/control_api/queries.ts';
import { oneLine } from '#services/stage/terminal.ts';
import { accountCommands, auditCommands } from './accounts.ts';
import { backupCommands } from './backup/backup_commands.ts';
import {
  type Arguments,
  type CliOption,
  type CliResult,
  type Command,
  type Commands,
  type Context,
  done,
  option,
  requiredOption,
  send,
  show,
  table,
  UsageError,
} from './command.ts';
import { definitionCommands } from './definitions.ts';
import { destinationCommands } from './destinations.ts';
import { doctorReport, type Section } from './doctor/doctor.ts';
import { exportCommands } from './export.ts';
import { historyCommand } from './import/history_commands.ts';
import { importCommands } from './import/import_commands.ts';
import { identityCommands, keyCommands } from './keys.ts';
import { passwordCommands } from './password/password_commands.ts';
import { accessCommands } from './persons.ts';
import { personCommands, queryCommands } from './query.ts';
import { readText } from './read.ts';
import { deadCommands, replayCommands } from './redelivery.ts';
import { scaffoldCommands } from './scaffold.ts';
import { domainCommands, siteCommands, tagCommands } from './sites.ts';
import { type StatusPorts, statusReport } from './status/status.ts';
import { analystCommands, tokenCommands, userCommands } from './users.ts';

const PARTITIONS_MAX = 10_000;

const topicCommands: Commands = {
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

const rateCommands: Commands = {
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

/** The world around the command line. */
export interface CliPorts {
  openContext(): Promise<Context>;
  /** Opened where the status is asked for. */
  openStatus(): StatusPorts;
  /** What `doctor` looks at. */
  openDoctor(): Promise<Section[]>;
}

/** Every command that reads or changes settings, or asks. */
export const COMMANDS: Commands = {
  ...accountCommands,
  ...siteCommands,
  ...domainCommands,
  ...keyCommands,
  ...destinationCommands,
  ...scaffoldCommands,
  ...definitionCommands,
  ...tagCommands,
  ...importCommands,
  'import history [FILE...]': historyCommand,
  ...exportCommands,
  ...replayCommands,
  ...deadCommands,
  ...queryCommands,
  ...rateCommands,
  ...personCommands,
  ...identityCommands,
  ...passwordCommands,
  ...backupCommands,
  ...accessCommands,
  ...analystCommands,
  ...tokenCommands,
  ...topicCommands,
  ...userCommands,
  ...auditCommands,
};

/**
 * Runs one command line. What is wrong with it comes back as one line, `svc: CODE: message`, and exit status 2; failures
 * of the service, such as one that does not answer, are thrown. Help works without a running service.
 */
export async function runCli(words: readonly string[], ports: CliPorts): Promise<CliResult> {
  const printed: string[] = [];
  let result: CliResult | undefined;
  const print = (text: string): void => void printed.push(text);
  // Subcommands inherit what is set before they are added.
  const program = new Program('npm run svc --')
    .exitOverride()
    .configureHelp({ visibleCommands, subcommandTerm })
    .configureOutput({ writeOut: print, writeErr: print, outputError: () => undefined })
    .addHelpText('after', '\nEvery command takes --help and --json.');
  addCommands(program, ports, (one) => {
    result = one;
  });
  try {
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    if (!isHelp(error)) return refused(error);
  }
  return result ?? { exitCode: 0, stdout: printed.join(''), stderr: '' };
}

const isHelp = (error: unknown): boolean => error instanceof CommanderError && /^commander\.help/.test(error.code);

/** Codes of what commander finds wrong with a command line. */
const CODES: Record<string, string> = {
  'commander.unknownCommand': 'command_unknown',
  'commander.unknownOption': 'flag_unknown',
  'commander.optionMissingArgument': 'flag_value_missing',
  'commander.missingMandatoryOptionValue': 'flag_missing',
  'commander.invalidArgument': 'flag_value_unknown',
  'commander.missingArgument': 'argument_missing',
  'commander.excessArguments': 'argument_unexpected',
};

/** The line for what is wrong with the request. @throws what is not. */
function refused(error: unknown): CliResult {
  const { code, message } = usageError(error);
  return { exitCode: 2, stdout: '', stderr: `svc: ${code}: ${oneLine(message)}\n` };
}

function usageError(error: unknown): UsageError {
  if (error instanceof UsageError) return error;
  if (error instanceof ControlRefusal) {
    const [first] = error.problems;
    if (first === undefined) return new UsageError(error.code, error.message);
    // The code of the first problem says more than that there are problems.
    return new UsageError(first.code, error.problems.map((item) => `${item.field}: ${item.message}`).join('; '));
  }
  // A full disk, a folder of somebody else's.
  if (error instanceof Error && 'syscall' in error) return new UsageError('file_failed', error.message);
  if (!(error instanceof CommanderError)) throw error;
  // A word too many, and what stands after the = of an option, may be a secret after a typing error.
  const message = error.message
    .replace(/^error: /, '')
    .replace(/(?<=but got \d+): .*|(?<=unknown option '[^=]*)=.*/s, '');
  return new UsageError(CODES[error.code] ?? error.code, message);
}

const jsonOption = option('json', 'Print JSON for programs');

function addCommands(program: Program, ports: CliPorts, finish: (result: CliResult) => void): void {
  program
    .command('status')
    .description('Say what is wrong, since when and what to do; else what runs where')
    .option('--metrics <URL...>', 'Addresses of the metrics of processes elsewhere', [])
    .addOption(jsonOption)
    .addHelpText('after', examplesText(['status', 'status --json', 'status --metrics http://edge-1:9464/metrics']))
    .action(async ({ json, metrics }) =>
      finish(await statusReport(ports.openStatus(), { json: json === true, metrics: metrics.map(metricsUrl) })),
    );
  program
    .command('doctor')
    .description('Check settings, versions, clocks, disks, logins and certificates of the parts')
    .addOption(jsonOption)
    .addHelpText('after', examplesText(['doctor', 'doctor --json']))
    .action(async ({ json }) => finish(await doctorReport(await ports.openDoctor(), json === true)));
  for (const [usage, command] of Object.entries(COMMANDS)) addCommand(program, usage, command, ports, finish);
}

function metricsUrl(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text;
  throw new UsageError('flag_value_unknown', '--metrics takes addresses such as http://edge-1:9464/metrics');
}

function addCommand(
  program: Program,
  usage: string,
  { summary, subject, options = [], examples, isDefault, run }: Command,
  ports: CliPorts,
  finish: (result: CliResult) => void,
): void {
  const [noun = '', verb = '', ...words] = usage.split(' ');
  const parent = program.commands.find((one) => one.name() === noun) ?? program.command(noun);
  const command = parent.command(verb, { isDefault: isDefault === true }).description(summary);
  words.forEach((word, index) => {
    command.argument(word, index === 0 ? subject : undefined);
  });
  const all = [...options, jsonOption];
  for (const one of all) command.addOption(one);
  const shown = examples ?? (words.length === 0 ? [usage, `${usage} --json`] : []);
  command.addHelpText('after', examplesText(shown)).action(async () => {
    if (command.args.includes('')) throw new UsageError('argument_missing', 'an argument is empty');
    const context = await ports.openContext();
    const args = readArguments(command, all, context.nowMs);
    const { text, json, isPartial } = await run(args, context);
    const stdout = args.flag('json') ? JSON.stringify(json, null, 2) : text;
    finish({ exitCode: isPartial === true ? 1 : 0, stdout: `${stdout}\n`, stderr: '' });
  });
}

/** What was given; what has a default has it from the command itself. */
function readArguments(command: Program, options: readonly CliOption[], nowMs: number): Arguments {
  const given = options.filter((one) => command.getOptionValueSource(one.attributeName()) === 'cli');
  const values = new Map(given.map((one) => [one.name(), command.getOptionValue(one.attributeName()) as unknown]));
  const fieldOf = (one: CliOption): unknown => {
    const value = values.get(one.name());
    const read = (text: string): unknown => one.read(text, one.name(), nowMs);
    return Array.isArray(value) ? value.map(read) : read(String(value));
  };
  return {
    subject: command.args[0] ?? '',
    subjects: command.args,
    text: (name) => values.get(name) as string | undefined,
    required: (name) => values.get(name) as string,
    texts: (name) => (values.get(name) ?? []) as string[],
    flag: (name) => values.has(name),
    fields: () =>
      Object.fromEntries(given.flatMap((one) => (one.field === undefined ? [] : [[one.field, fieldOf(one)]]))),
  };
}

const examplesText = (examples: readonly string[]): string =>
  examples.length === 0 ? '' : ['', 'Examples:', ...examples.map((one) => `  npm run svc -- ${one}`)].join('\n');

/** Help for everything has a line for each command, not for each noun. */
function visibleCommands({ commands, parent }: Program): Program[] {
  return parent === null
    ? commands.flatMap((noun) => (noun.commands.length === 0 ? noun : noun.commands))
    : [...commands];
}

function subcommandTerm(command: Program): string {
  const noun = command.parent?.parent ? `${command.parent.name()} ` : '';
  return `${noun}${command.name()} ${command.usage().replace(/^\[options\] ?/, '')}`.trim();
}
