// Commands of the passwords by which processes sign in at Kafka, Redis and ClickHouse.

import { LOGIN_PARTS, type LoginPart } from '#infra/rights/logins.ts';
import { type Commands, option, repeatableOption, requiredOption, UsageError } from '../command.ts';

/** What the commands do, which takes the clients of all parts. Each resolves to lines for a person. */
export interface PasswordChanges {
  /** Of the part that runs here: all of it. */
  rotateHere(part: LoginPart): Promise<string[]>;
  /** Of the users whom the files of a folder name: adds new passwords and writes them there. */
  rotateIn(part: LoginPart, folder: string): Promise<string[]>;
  /** Ends all passwords but those of the files. @param metrics Of every process; null: nobody is asked, and all are ended. */
  finishIn(part: LoginPart, folder: string, metrics: readonly string[] | null): Promise<Finished>;
}

export interface Finished {
  says: string[];
  /** Users whose old passwords were not ended: no process was asked that signs in as one of them. */
  kept: string[];
}

const subject = LOGIN_PARTS.join(', ');
const ENVIRONMENT = 'environment <FOLDER>';
const FOLDER = 'Folder with the *.env files of all processes (deploy/environment, filled in)';

function partOf(text: string): LoginPart {
  const part = LOGIN_PARTS.find((one) => one === text);
  if (part === undefined) throw new UsageError('part_unknown', `passwords are those of ${LOGIN_PARTS.join(', ')}`);
  return part;
}

const said = (lines: readonly string[]) => ({ text: lines.join('\n'), json: { says: lines } });

export const passwordCommands: Commands = {
  'password rotate <PART>': {
    summary: 'Give all users of a part new passwords, which are not shown; elsewhere than here beside the old ones',
    subject,
    options: [option(ENVIRONMENT, `${FOLDER}; none: the part runs here`)],
    examples: ['password rotate redis', 'password rotate clickhouse --environment /etc/svc'],
    async run(args, { passwords }) {
      const [part, folder] = [partOf(args.subject), args.text('environment')];
      const changes = await passwords();
      return said(await (folder === undefined ? changes.rotateHere(part) : changes.rotateIn(part, folder)));
    },
  },
  'password finish <PART>': {
    summary: 'End the old passwords, once no process signs in by one',
    subject,
    options: [
      requiredOption(ENVIRONMENT, FOLDER),
      repeatableOption('metrics <URL>', 'Metrics of a process, which say by which password it signs in'),
      option('force', 'Ask no process'),
    ],
    examples: ['password finish redis --environment /etc/svc --metrics http://edge-1:9482/metrics'],
    async run(args, { passwords }) {
      const [part, metrics] = [partOf(args.subject), args.texts('metrics')];
      if (metrics.length === 0 && !args.flag('force'))
        throw new UsageError('metrics_missing', 'name the metrics of every process, or end the old ones with --force');
      const changes = await passwords();
      const folder = args.required('environment');
      const { says, kept } = await changes.finishIn(part, folder, args.flag('force') ? null : metrics);
      return { text: says.join('\n'), json: { says, kept }, isPartial: kept.length > 0 };
    },
  },
};
