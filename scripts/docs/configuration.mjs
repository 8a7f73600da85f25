import { AgentConfigSchema } from '@muster/agent';
import { quantityName, quantityText } from '@muster/base';
import { describeConfig } from '@muster/platform/config';
import { code, table } from './markdown.mjs';

export function configurationPage() {
  const server = describeConfig().map((row) => [
    code(row.path),
    code(row.env),
    code(row.flag),
    row.type.replaceAll('|', ', '),
    code(row.default),
    row.description,
  ]);
  const agent = agentRows(AgentConfigSchema.properties);
  return `# Configuration

Generated from the schemas by \`npm run docs\`.

## Durations and sizes

| type | with a unit | as a number |
|---|---|---|
| duration | \`500ms\`, \`30s\`, \`10m\`, \`2h\`, \`7d\`, \`2w\`; also \`1h30m\` | seconds: \`0.5\`, \`604800\` |
| size | powers of 1024: \`64KiB\`, \`10MiB\`, \`1GiB\`, \`1TiB\`; powers of 1000: \`64kB\`, \`10MB\`, \`1GB\`, \`1TB\`; \`512B\` | bytes: \`65536\` |

That holds for files, variables and flags alike, and for the flags of every other command. There is no space between number and unit, the
number may be a fraction (\`1.5GiB\`), and upper and lower case matter. \`64K\`, \`10M\` and \`1G\` are refused, as they mean 1024 to some and
1000 to others.

## Server

One file (JSON or YAML, \`muster server --config FILE\`), overridden by \`MUSTER_*\` variables, overridden by flags. Keys with a
dot are nested: \`http.listen\` is \`listen\` below \`http\`. Unknown keys, variables and flags are errors that name them.
\`muster server --check-config\` prints the settings that would be used, durations as seconds
and sizes as bytes, and stops. It reads certificates and their keys, and the key files of secrets, too, refuses those that cannot be used, and warns of a certificate that
has expired. Names of files that do not begin with \`/\` go by the working directory of the server, not by the settings file or \`data_dir\`.

\`\`\`yaml
data_dir: /var/lib/muster
http:
  listen: 0.0.0.0:8443
  tls_cert: /etc/muster/cert.pem
  tls_key: /etc/muster/key.pem
heartbeat:
  listen: tcp://0.0.0.0:10000
command:
  listen: tcp://0.0.0.0:10001
stomp:
  listen: 0.0.0.0:61613
  tls_cert: /etc/muster/cert.pem
  tls_key: /etc/muster/key.pem
push:
  keep: 30d
events:
  keep: 14d
  max_bytes: 10GiB
\`\`\`

${table(['key', 'variable', 'flag', 'type', 'default', 'what for'], server)}

## Agent

One file (JSON or YAML, \`muster agent --config FILE\`); flags of \`muster agent\` count more. Read again on SIGHUP without
disturbing a running command; a broken file is logged and the old settings stay in force. \`server\`, \`org\`,
\`name\`, \`key\`, \`data_dir\`, \`ca\`, \`limits\` and \`events\` count from the next start on, which the log says when one has changed.

\`\`\`yaml
server: https://muster.example.com:8443
org: default
data_dir: /var/lib/muster-agent
commands:
  chef-client: chef-client --once          # split into words, run without a shell
  disk: { shell: "df -h / | tail -1" }     # run by /bin/sh -c
  /restart (nginx|redis)/: systemctl restart $1
allow_env: [DEPLOY_*, COLOR]               # what jobs may set; nothing else
environment: { HTTPS_PROXY: http://proxy:3128 }   # given to every command
labels:
  role: web
  env: prod
tasks:
  max: 4                                   # at one time
  plugins:                                 # see docs/guide/plugins.md
    thumbnail: { program: /usr/lib/muster/plugins/thumbnail }
    report: { program: /opt/report.sh, args: ["{region}"], user: reports, timeout: 10m }
    resize: { module: /opt/plugins/resize.mjs, concurrency: 50 }
\`\`\`

${table(['key', 'type', 'default', 'what for'], agent)}

A command of the allow-list is one of:

${table(
  ['form', 'means'],
  [
    [
      '`"word word"`',
      'split into words and run without a shell; `$1` in a word is the first capture, never split again',
    ],
    ['`["program", "argument"]`', 'program and arguments as they are'],
    ['`{"shell": "…"}`', 'run with `/bin/sh -c`; captures arrive as positional parameters `"$1"`'],
    ['`{"command_line": …, "lock": true}`', 'as above, refused while another process holds the lock'],
  ],
)}

Keys are exact commands, or patterns between slashes; exact keys win. Any of the object forms may have \`match\`, a pattern of
its own, and \`allow_env\`: further variables that jobs may set for this command. Built in on every agent: \`sleep N\`, \`dummy_job PFAIL DURATION\`, \`facts\` (alias \`ohai\`).

## CLI

${table(
  ['key', 'variable', 'what for'],
  [
    ['`url`', '`MUSTER_URL`', 'URL of the server'],
    ['`org`', '`MUSTER_ORG`', 'organization; `default` when absent'],
    [
      '`user`',
      '`MUSTER_USER`',
      'who signs, or whose token it is; without key and token nobody else may have signed in (`muster login`)',
    ],
    ['`key`', '`MUSTER_KEY`', 'private key: a PEM file (relative to the settings file), or the PEM text itself'],
    ['`token`', '`MUSTER_TOKEN`', 'a bearer token instead of a key; with both nothing is done'],
    ['`ca`', '`MUSTER_CA`', 'PEM file of the authority that signed the certificate of the server, as `--ca`'],
    ['`confirm_above`', '', 'jobs on more nodes than this need `--yes`; 100 when absent'],
  ],
)}

The file is found by \`--config\`, else by the context that \`--context\` names, else \`MUSTER_CONFIG\`, else \`MUSTER_CONTEXT\`, else, when
\`MUSTER_URL\` is not set, it is that of the context in use (\`muster context use\`), \`./muster-data/muster.yaml\` or \`~/.muster/muster.yaml\`. Variables
count more than the file. For a server with a private certificate authority set \`NODE_EXTRA_CA_CERTS=ca.pem\`.
`;
}

function defaultText({ unit, default: value }) {
  if (value === undefined) return '';
  return unit === undefined ? JSON.stringify(value) : quantityText(unit, value);
}

function agentRows(properties, prefix = '') {
  return Object.entries(properties).flatMap(([name, schema]) => [
    [
      code(prefix + name),
      schema.unit === undefined ? (schema.type ?? '') : quantityName(schema.unit),
      code(defaultText(schema)),
      schema.description ?? '',
    ],
    ...(schema.properties === undefined ? [] : agentRows(schema.properties, `${prefix}${name}.`)),
    ...namedRows(schema, `${prefix}${name}.NAME.`),
  ]);
}

/** Keys of objects that a person gives names to: plugins. */
function namedRows({ patternProperties = {} }, prefix) {
  return Object.values(patternProperties).flatMap(({ properties }) =>
    properties === undefined ? [] : agentRows(properties, prefix),
  );
}
