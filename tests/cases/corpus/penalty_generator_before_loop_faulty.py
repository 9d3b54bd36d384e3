# %% imports
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(3)

# %% data
X = torch.randn(40, 5)
w_true = torch.tensor([1., 0., -2., 0., 3.])
Y = X @ w_true + 0.1 * torch.randn(40)

# %% model
class Sparse(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(5, 6)
        self.l2 = nn.Linear(6, 1)
    def forward(self, x):
        return self.l2(torch.tanh(self.l1(x))).squeeze()

net = Sparse()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)

# %% regulariser
lam = 1e-3
def group_lasso(m):
    return sum(w.pow(2).sum(0).sqrt().sum() for n, w in m.named_parameters() if "weight" in n)

# %% training
reg = lam * group_lasso(net)
for it in range(50):
    idx = torch.randint(0, 40, (10,))
    mse = F.mse_loss(net(X[idx]), Y[idx])
    loss = mse + reg
    opt.zero_grad()
    loss.backward()  # error: [carried-graph] # raises: RuntimeError
    opt.step()
    if it % 10 == 0:
        print(it, mse.item(), reg.item())
