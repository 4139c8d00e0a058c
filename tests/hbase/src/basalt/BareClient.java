// SPDX-License-Identifier: Apache-2.0
package basalt;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.RegionLocator;
import org.apache.hadoop.hbase.codec.KeyValueCodec;
import org.apache.hadoop.hbase.shaded.protobuf.RequestConverter;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.GetRequest;
import org.apache.hadoop.hbase.shaded.protobuf.generated.RPCProtos.ConnectionHeader;
import org.apache.hadoop.hbase.shaded.protobuf.generated.RPCProtos.RequestHeader;
import org.apache.hadoop.hbase.shaded.protobuf.generated.RPCProtos.ResponseHeader;
import org.apache.hadoop.hbase.shaded.protobuf.generated.RPCProtos.UserInformation;

/**
 * Gets from the first region of a table over a blocking socket, with nothing of HBase's client but its messages. The time that HBase's client needs
 * beyond this one's is its own: its threads, its event loop, its bookkeeping.
 */
final class BareClient implements AutoCloseable {
  private final Socket socket;
  private final DataOutputStream out;
  private final DataInputStream in;
  private final byte[] region;
  private int calls;

  BareClient(Connection connection, TableName table) throws IOException {
    HRegionLocation location;
    try (RegionLocator locator = connection.getRegionLocator(table)) {
      location = locator.getRegionLocation(new byte[0]);
    }
    region = location.getRegion().getRegionName();
    socket = new Socket(location.getHostname(), location.getPort());
    socket.setTcpNoDelay(true);
    out = new DataOutputStream(socket.getOutputStream());
    in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), 1 << 16));
    ConnectionHeader header =
        ConnectionHeader.newBuilder()
            .setServiceName("ClientService")
            .setCellBlockCodecClass(KeyValueCodec.class.getName())
            .setUserInfo(UserInformation.newBuilder().setEffectiveUser("bench"))
            .build();
    out.write(new byte[] {'H', 'B', 'a', 's', 0, 0x50});
    out.writeInt(header.getSerializedSize());
    out.write(header.toByteArray());
  }

  /** One call; the answer must not be an exception. */
  void get(Get get) throws IOException {
    RequestHeader header =
        RequestHeader.newBuilder().setCallId(calls++).setMethodName("Get").setRequestParam(true).build();
    GetRequest request = RequestConverter.buildGetRequest(region, get);
    ByteArrayOutputStream frame = new ByteArrayOutputStream(256);
    frame.write(new byte[4]);
    header.writeDelimitedTo(frame);
    request.writeDelimitedTo(frame);
    byte[] bytes = frame.toByteArray();
    java.nio.ByteBuffer.wrap(bytes).putInt(bytes.length - 4);
    out.write(bytes);
    byte[] answer = new byte[in.readInt()];
    in.readFully(answer);
    ResponseHeader status = ResponseHeader.parseDelimitedFrom(new java.io.ByteArrayInputStream(answer));
    if (status.hasException()) {
      throw new IOException(status.getException().getExceptionClassName());
    }
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
