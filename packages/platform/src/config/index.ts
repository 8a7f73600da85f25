export {
  formatHostPort,
  isEverywhere,
  isLoopback,
  onThisHost,
  parseHostPort,
  parseTcpAddress,
} from './address.js';
export { type ConfigSources, loadConfig } from './load.js';
export { nearest, shown } from './nearest.js';
export { redactConfig } from './redact.js';
export { type ServerConfig, ServerConfigSchema } from './schema.js';
export { describeConfig } from './settings.js';
export { type CertificateEnd, certificateEnds, expiredCertificates, readTls } from './tls.js';
