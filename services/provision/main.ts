import { readConfig, warnOfSettings } from '#infra/config/catalogue.ts';
import { provisionConfig } from '#infra/config/service_config.ts';
import { createLogger } from '#infra/log/logger.ts';
import { provision } from '#services/stage/provision.ts';

const MISMATCH_STATUS = 3;

/**
 * Creates the topics, schemas and tables that are missing in the parts that the environment names, says what it did,
 * and ends. Exit status 3 where something exists that differs from what is declared: that is left as it is, and processes may run.
 */
const config = readConfig(provisionConfig);
const logger = createLogger('provision', config.logLevel);
warnOfSettings((text) => logger.warn(text));
const report = await provision(config.parts, logger);
for (const line of report.done) console.log(line);
for (const line of report.mismatches) console.log(`MISMATCH (left as it is): ${line}`);
if (report.done.length === 0 && report.mismatches.length === 0) console.log('everything is there');
process.exitCode = report.mismatches.length === 0 ? 0 : MISMATCH_STATUS;
