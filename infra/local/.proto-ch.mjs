import { createRequire } from 'node:module';
import { mkdirSync, writeFileSync, readFileSync, openSync, writeSync, closeSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
const ffi = (await import('ffi-rs')).default;
const { open, load, DataType, isNullPointer } = ffi;
const require = createRequire(import.meta.url);
const lib = require.resolve('@chdb/lib-linux-x64-gnu').replace(/index\.js$/, 'libchdb.so');
const dir = process.argv[2];
mkdirSync(dir + '/data', { recursive: true });
open({ library: 'c', path: '' });
const c = (f, r, t, v) => load({ library: 'c', funcName: f, retType: r, paramsType: t, paramsValue: v, errno: true });
const I = DataType.I32, S = DataType.String;
const fd = c('posix_openpt', I, [I], [2]).value;
console.log('pty', fd, c('grantpt', I, [I], [fd]).value, c('unlockpt', I, [I], [fd]).value);
const n = readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8').match(/tty-index:\s*(\d+)/)?.[1];
console.log('pts', n);
const slave = openSync(`/dev/pts/${n}`, 2 | 0o400);
console.log(c('dup2', I, [I, I], [slave, 0]));
try { execFileSync('mkfifo', [dir + '/stop']); } catch {}
writeFileSync(dir + '/users.xml', `<clickhouse><profiles><default></default></profiles><quotas><default/></quotas><users>
<default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota><grants><query>GRANT SYSTEM LISTEN ON *.*</query></grants></default>
<svc><password>secret</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota><access_management>0</access_management></svc>
</users></clickhouse>`);
writeFileSync(dir + '/config.xml', `<clickhouse>
<keep_alive_timeout>3</keep_alive_timeout><background_pool_size>8</background_pool_size><background_schedule_pool_size>16</background_schedule_pool_size>
<user_directories><users_xml><path>${dir}/users.xml</path></users_xml></user_directories>
<listen_host>127.0.0.1</listen_host><http_port>18123</http_port>
<logger><level>information</level><log>${dir}/ch.log</log></logger>
</clickhouse>`);
const args = ['clickhouse', '--interactive', '--multiquery', `--path=${dir}/data`, `--config-file=${dir}/config.xml`, '--listen_host=127.0.0.1', '--http_port=0',
 '--query', `SYSTEM START LISTEN HTTP; SELECT getServerPort('http_port') INTO OUTFILE '${dir}/ready' TRUNCATE FORMAT TSV; SELECT * FROM file('${dir}/stop', 'LineAsString'); SYSTEM STOP LISTEN HTTP;`];
open({ library: 'chdb', path: lib });
const t = Date.now();
setInterval(() => console.log('alive', Date.now() - t), 5000).unref();
const p = load({ library: 'chdb', funcName: 'chdb_query_cmdline', retType: DataType.External, paramsType: [I, DataType.StringArray], paramsValue: [args.length, args], runInNewThread: true });
process.on('SIGTERM', () => { console.log('term'); const f = openSync(dir + '/stop', 'w'); writeSync(f, 'x\n'); closeSync(f); });
const r = await p;
console.log('returned', isNullPointer(r), Date.now() - t);
const off = load({ library: 'c', funcName: '_exit', retType: DataType.Void, paramsType: [I], paramsValue: [0] });
