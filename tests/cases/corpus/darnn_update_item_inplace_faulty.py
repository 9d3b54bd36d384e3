import torch
from torch import nn
import torch.nn.functional as tf


class Encoder(nn.Module):
    def __init__(self, input_size: int, hidden_size: int, T: int):
        super(Encoder, self).__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.T = T
        self.lstm_layer = nn.LSTM(input_size=input_size, hidden_size=hidden_size, num_layers=1)
        self.attn_linear = nn.Linear(in_features=2 * hidden_size + T - 1, out_features=1)

    def forward(self, input_data):
        input_weighted = torch.zeros(input_data.size(0), self.T - 1, self.input_size)
        input_encoded = torch.zeros(input_data.size(0), self.T - 1, self.hidden_size)
        hidden = torch.zeros(1, input_data.size(0), self.hidden_size)
        cell = torch.zeros(1, input_data.size(0), self.hidden_size)
        for t in range(self.T - 1):
            x = torch.cat(
                (
                    hidden.repeat(self.input_size, 1, 1).permute(1, 0, 2),
                    cell.repeat(self.input_size, 1, 1).permute(1, 0, 2),
                    input_data.permute(0, 2, 1),
                ),
                dim=2,
            )
            x = self.attn_linear(x.view(-1, self.hidden_size * 2 + self.T - 1))
            attn_weights = tf.softmax(x.view(-1, self.input_size), dim=1)
            attn_weights *= attn_weights.mean(dim=1, keepdim=True)  # error: [inplace-on-saved]
            weighted_input = torch.mul(attn_weights, input_data[:, t, :])
            self.lstm_layer.flatten_parameters()
            _, lstm_states = self.lstm_layer(weighted_input.unsqueeze(0), (hidden, cell))
            hidden = lstm_states[0]
            cell = lstm_states[1]
            input_weighted[:, t, :] = weighted_input
            input_encoded[:, t, :] = hidden
        return input_weighted, input_encoded


class Decoder(nn.Module):
    def __init__(self, encoder_hidden_size):
        super().__init__()
        self.fc = nn.Linear(encoder_hidden_size, 1)

    def forward(self, input_encoded):
        return self.fc(input_encoded.mean(1)).squeeze(1)


def train_iteration(t_net, loss_func, X, y_target):
    enc, dec, enc_opt, dec_opt = t_net
    enc_opt.zero_grad()
    dec_opt.zero_grad()
    input_weighted, input_encoded = enc(X)
    y_pred = dec(input_encoded)
    loss = loss_func(y_pred, y_target)
    loss.backward()  # raises: RuntimeError "modified by an inplace operation"
    enc_opt.step()
    dec_opt.step()
    return loss.item()


encoder, decoder = Encoder(3, 8, 5), Decoder(8)
net = (encoder, decoder, torch.optim.Adam(encoder.parameters()), torch.optim.Adam(decoder.parameters()))
for it in range(3):
    print(train_iteration(net, nn.MSELoss(), torch.randn(6, 4, 3), torch.randn(6)))
