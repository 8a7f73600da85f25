export * from './event/access.js';
export { Delivery } from './event/delivery.js';
export {
  bodyOf,
  type LoggedEvent,
  linesOf,
  type NewEvent,
  newEvent,
  newEventOf,
  type Origin,
  originOf,
  timeOf,
} from './event/event.js';
export { isOwnType, OWN_TYPES } from './event/own-types.js';
export { EVENTS_DESTINATION, stamp } from './event/tail.js';
export { FABRIC_LIMITS } from './limits.js';
export type { FabricLog } from './log.js';
export { FabricMetrics, Samples } from './metrics.js';
export type * from './protocol/login.js';
export type * from './root/ports.js';
export { type ClientStatus, createRoot, type Root, type RootOptions } from './root/root.js';
export { FairShares } from './session/fair-shares.js';
export { networkOf } from './session/login-admission.js';
export { bytesOf, textOf } from './stomp/bytes.js';
export type { Command } from './stomp/commands.js';
export { concat, encodeFrame, headerLine, headerLines } from './stomp/encode.js';
export { escapeHeader, type HeaderRules, unescapeHeader } from './stomp/escape.js';
export { EMPTY_BODY, type Frame, frame, type Headers, header, type StompVersion } from './stomp/frame.js';
export { messagePrefix, messageTail, tailFor, tailOf } from './stomp/message.js';
export { type FrameHandlers, FrameParser, type ParserLimits } from './stomp/parser.js';
export type { RawFrame } from './stomp/raw-frame.js';
export { type Address, formatAddress, isLoopback, parseAddress } from './transport/address.js';
export type { Accept, Channel, ChannelHandlers, Listener } from './transport/channel.js';
export { connectChannel } from './transport/connect.js';
export { listenForChannels } from './transport/listen.js';
export type { ConnectOptions, ListenOptions } from './transport/options.js';
export { remoteOf } from './transport/socket.js';
export { takeSocket } from './transport/tcp.js';
export type { Transport } from './transport/transport.js';
export { type Upgrade, webSocketUpgrade } from './transport/websocket.js';
